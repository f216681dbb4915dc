// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.CommandCustomHeader;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;
import org.apache.rocketmq.remoting.protocol.SerializeType;

/**
 * Makes frames with the real classes: a description a line on standard input, a line of JSON for each on standard output. A
 * description says the code, the header class with its fields, the body class with its content, and the form of the header.
 */
public final class Frames {
    private static final String[] PACKAGES = {
        "org.apache.rocketmq.remoting.protocol.", "org.apache.rocketmq.common.protocol.",
    };

    private Frames() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(made(RemotingSerializable.fromJson(line, HashMap.class)));
        }
        out.flush();
    }

    private static String made(Map<?, ?> said) throws Exception {
        RemotingCommand command = RemotingCommand.createRequestCommand(number(said, "code"), header(said));
        command.setOpaque(number(said, "opaque"));
        command.setRemark((String) said.get("remark"));
        if (said.get("kind").equals("answer")) {
            command.markResponseType();
        } else if (said.get("kind").equals("oneway")) {
            command.markOnewayRPC();
        }
        command.setSerializeTypeCurrentRPC(SerializeType.valueOf((String) said.get("form")));
        command.setBody(body(said));
        ByteBuffer frame = command.encode();
        byte[] bytes = new byte[frame.remaining()];
        frame.get(bytes);
        RemotingCommand read = RemotingCommand.decode(ByteBuffer.wrap(bytes, 4, bytes.length - 4).slice());
        Map<String, Object> answer = new HashMap<>();
        answer.put("frame", hex(bytes));
        answer.put("flag", read.getFlag());
        answer.put("fields", read.getExtFields() == null ? new HashMap<>() : read.getExtFields());
        return RemotingSerializable.toJson(answer, false);
    }

    private static CommandCustomHeader header(Map<?, ?> said) throws Exception {
        String name = (String) said.get("header");
        return name == null ? null
            : (CommandCustomHeader) RemotingSerializable.fromJson((String) said.get("header content"), named(name));
    }

    private static byte[] body(Map<?, ?> said) throws Exception {
        String name = (String) said.get("body class");
        String content = (String) said.get("body content");
        if (name == null) {
            return content == null ? null : content.getBytes(StandardCharsets.UTF_8);
        }
        if (name.equals("messages")) {
            return messages(RemotingSerializable.fromJson(content, ArrayList.class));
        }
        return ((RemotingSerializable) RemotingSerializable.fromJson(content, named(name))).encode();
    }

    private static byte[] messages(List<?> listed) throws Exception {
        ByteBuffer all = ByteBuffer.allocate(1 << 16);
        for (Object each : listed) {
            Map<?, ?> said = (Map<?, ?>) each;
            MessageExt message = new MessageExt();
            message.setTopic((String) said.get("topic"));
            message.setBody(((String) said.get("body")).getBytes(StandardCharsets.UTF_8));
            ((Map<?, ?>) said.get("properties")).forEach((name, value) ->
                MessageExtProperties.put(message, (String) name, (String) value));
            message.setQueueId(number(said, "queueId"));
            message.setQueueOffset(number(said, "queueOffset"));
            message.setCommitLogOffset(number(said, "commitLogOffset"));
            message.setReconsumeTimes(number(said, "reconsumeTimes"));
            message.setBornTimestamp(((Number) said.get("bornTimestamp")).longValue());
            message.setStoreTimestamp(((Number) said.get("storeTimestamp")).longValue());
            message.setBornHost(new InetSocketAddress("10.0.0.9", 4321));
            message.setStoreHost(new InetSocketAddress("10.0.0.1", 10911));
            all.put(MessageDecoder.encode(message, false));
        }
        byte[] bytes = new byte[all.position()];
        all.flip();
        all.get(bytes);
        return bytes;
    }

    /** Sets properties without the checks of {@code putUserProperty}, which refuses names of the system. */
    private static final class MessageExtProperties {
        static void put(MessageExt message, String name, String value) {
            org.apache.rocketmq.common.message.MessageAccessor.putProperty(message, name, value);
        }
    }

    private static Class<?> named(String name) throws ClassNotFoundException {
        for (String start : PACKAGES) {
            try {
                return Class.forName(start + name);
            } catch (ClassNotFoundException absent) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static int number(Map<?, ?> said, String name) {
        return ((Number) said.get(name)).intValue();
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
