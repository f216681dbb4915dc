package io.rmqalloc.live;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONArray;
import com.alibaba.fastjson2.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Consumers that join and leave on command. Every line of standard input is a command, every line of standard output one
 * JSON object: an answer ({"done": ...} or {"failed": ...}) or, whenever the queues of a consumer change, its queues.
 *
 * <pre>
 * {"do": "join", "name": "c1", "group": "g", "topics": ["T"], "strategy": "AVG", ...}   see {@link Member}
 * {"do": "leave", "name": "c1"}        a shutdown in good order
 * {"do": "show"}                       queues of every consumer now
 * {"do": "send", "topic": "T", "count": 100, "batch": 1, "from": 0}
 * {"do": "flow", "topic": "T", "per_second": 100, "from": 0}, {"do": "still"}   messages all the time, until it is still
 * {"do": "consumed", "group": "g"}     how often this process was given each message, see {@link Deliveries} for more
 * {"do": "topic" | "group" | "mode", ...}   see {@link Admin}
 * </pre>
 *
 * The end of the input ends the program with all its consumers.
 */
public final class Consumers {
    private static final long LOOK_EVERY_MS = Long.getLong("rmqalloc.reportEvery", 50);
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final String nameServer;
    private final Map<String, Member> members = new ConcurrentHashMap<>();
    private final Map<String, String> shown = new LinkedHashMap<>();
    private Admin admin;

    private Consumers(String nameServer) {
        this.nameServer = nameServer;
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // the client's logging writes there; ours is kept in OUT
        Consumers consumers = new Consumers(args[0]);
        Thread watch = new Thread(consumers::watch, "watch");
        watch.setDaemon(true);
        watch.start();
        say(Map.of("ready", true));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject command = JSON.parseObject(line);
            try {
                say(Map.of("done", command.getString("do"), "answer", consumers.obey(command)));
            } catch (Exception error) {
                say(Map.of("failed", command.getString("do"), "why", String.valueOf(error)));
            }
        }
        for (Member member : consumers.members.values()) {
            member.leave();
        }
        if (consumers.admin != null) {
            consumers.admin.leave();
        }
        System.exit(0);
    }

    private Object obey(JSONObject command) throws Exception {
        String name = command.getString("name");
        switch (command.getString("do")) {
            case "join":
                Member joined = new Member(nameServer, command);
                joined.join();
                members.put(name, joined);
                return joined.clientId();
            case "leave":
                members.remove(name).leave();
                return name;
            case "show":
                Map<String, Object> all = new TreeMap<>();
                members.forEach((key, member) -> all.put(key, picture(key, member)));
                return all;
            case "send":
                return Sender.send(nameServer, command.getString("topic"), command.getIntValue("count"),
                    command.getIntValue("batch", 1), command.getIntValue("from"));
            case "flow":
                Sender.flow(nameServer, command.getString("topic"), command.getIntValue("per_second"),
                    command.getIntValue("from"));
                return command.getString("topic");
            case "still":
                return Sender.still();
            case "consumed":
                return Consumed.times(command.getString("group"));
            case "topic":
                return admin().topic(command);
            case "group":
                return admin().group(command);
            case "mode":
                return admin().mode(command);
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private Admin admin() throws Exception {
        if (admin == null) {
            admin = new Admin(nameServer);
        }
        return admin;
    }

    /** Print the queues of a consumer whenever they change. */
    private void watch() {
        while (true) {
            members.forEach((name, member) -> {
                String now = JSON.toJSONString(picture(name, member));
                if (!now.equals(shown.put(name, now))) {
                    say(Map.of("at", System.currentTimeMillis(), "owns", JSON.parseObject(now)));
                }
            });
            shown.keySet().retainAll(members.keySet());
            try {
                Thread.sleep(LOOK_EVERY_MS);
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    private static Map<String, Object> picture(String name, Member member) {
        JSONArray queues = new JSONArray();
        member.queues().stream().sorted().forEach(
            queue -> queues.add(List.of(queue.getTopic(), queue.getBrokerName(), queue.getQueueId())));
        Map<String, Object> picture = new LinkedHashMap<>();
        picture.put("name", name);
        picture.put("client_id", member.clientId());
        picture.put("queues", queues);
        return picture;
    }

    private static synchronized void say(Map<String, ?> what) {
        OUT.println(JSON.toJSONString(what));
    }
}
