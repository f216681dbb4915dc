package io.rmqalloc.live;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Consumers of every kind, by what clients of 4.9 and of 5.x have in common: compiled for one, it runs with either. It is
 * spoken to as {@link Consumers} is:
 *
 * <pre>
 * {"do": "join", "kind": "push" | "lite_pull" | "lite_assign" | "pull", "group": "g", "instance": "c1", "topics": ["T"]}
 * {"do": "owns", "instance": "c1"}     queues it works on, as far as its own interface tells
 * </pre>
 */
public final class Plain {
    private static final PrintStream OUT = System.out;

    private final String nameServer;
    private final Map<String, Callable<Collection<MessageQueue>>> queues = new LinkedHashMap<>();
    private final List<Runnable> ends = new ArrayList<>();

    private Plain(String nameServer) {
        this.nameServer = nameServer;
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // the client's logging writes there; ours is kept in OUT
        Plain plain = new Plain(args[0]);
        say("ready", true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject command = JSON.parseObject(line);
            try {
                say("answer", plain.obey(command));
            } catch (Exception error) {
                OUT.println(JSON.toJSONString(new JSONObject().fluentPut("failed", true).fluentPut("why", error.toString())));
            }
        }
        plain.ends.forEach(Runnable::run);
        System.exit(0);
    }

    private Object obey(JSONObject command) throws Exception {
        String instance = command.getString("instance");
        switch (command.getString("do")) {
            case "join":
                return join(command.getString("kind"), command.getString("group"), instance,
                    command.getJSONArray("topics").toJavaList(String.class));
            case "owns":
                List<Object> found = new ArrayList<>();
                queues.get(instance).call().forEach(
                    queue -> found.add(List.of(queue.getTopic(), queue.getBrokerName(), queue.getQueueId())));
                return found;
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private String join(String kind, String group, String instance, List<String> topics) throws Exception {
        switch (kind) {
            case "push":
                return push(group, instance, topics);
            case "pull":
                return pull(group, instance, topics);
            case "lite_pull":
            case "lite_assign":
                return litePull(group, instance, topics, kind.equals("lite_assign"));
            default:
                throw new IllegalArgumentException("unknown kind");
        }
    }

    private String push(String group, String instance, List<String> topics) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(instance);
        consumer.setClientCallbackExecutorThreads(2);
        for (String topic : topics) {
            consumer.subscribe(topic, "*");
        }
        consumer.registerMessageListener(
            (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        consumer.start();
        queues.put(instance, Collections::emptyList);
        ends.add(consumer::shutdown);
        return consumer.buildMQClientId();
    }

    @SuppressWarnings("deprecation") // it is there, so it is met
    private String pull(String group, String instance, List<String> topics) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(instance);
        consumer.setClientCallbackExecutorThreads(2);
        topics.forEach(topic -> consumer.getRegisterTopics().add(topic));
        consumer.start();
        queues.put(instance, () -> consumer.fetchMessageQueuesInBalance(topics.get(0)));
        ends.add(consumer::shutdown);
        return consumer.buildMQClientId();
    }

    private String litePull(String group, String instance, List<String> topics, boolean assigns) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(instance);
        consumer.setClientCallbackExecutorThreads(2);
        if (!assigns) {
            for (String topic : topics) {
                consumer.subscribe(topic, "*");
            }
        }
        consumer.start();
        if (assigns) {
            List<MessageQueue> all = new ArrayList<>();
            for (String topic : topics) {
                all.addAll(consumer.fetchMessageQueues(topic));
            }
            consumer.assign(all);
            consumer.poll(100);
        }
        queues.put(instance, Collections::emptyList);
        ends.add(consumer::shutdown);
        return consumer.buildMQClientId();
    }

    private static void say(String what, Object content) {
        OUT.println(JSON.toJSONString(Collections.singletonMap(what, content)));
    }
}
