package io.rmqalloc.live;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Every message that consumers of this process were given, in a file, one write each, so that what a killed process was given
 * is known: key, number in the body ("message 17"; -1 for none), offset and microseconds of the Unix clock; 4, 4, 8 and 8
 * bytes, the lowest first. A file of the same name with ".keys" has a line for each key, in order: group, name of the consumer,
 * topic, address of the broker, queue. Written where the property rmqalloc.deliveries names the file. The files are plain streams:
 * a consumer that shuts down interrupts its threads, and a thread that is interrupted while it writes closes a channel for all.
 */
final class Deliveries {
    static final Deliveries FILE = System.getProperty("rmqalloc.deliveries") == null
        ? null : new Deliveries(Path.of(System.getProperty("rmqalloc.deliveries")));

    private final FileOutputStream names;
    private final FileOutputStream records;
    private final ByteBuffer record = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
    private final Map<String, Integer> keys = new HashMap<>();

    private Deliveries(Path file) {
        try {
            names = new FileOutputStream(Files.createFile(file.resolveSibling(file.getFileName() + ".keys")).toFile());
            records = new FileOutputStream(Files.createFile(file).toFile());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    synchronized void note(String group, String name, List<MessageExt> messages) {
        try {
            for (MessageExt message : messages) {
                Instant now = Instant.now();
                record.clear();
                boolean sentBack = message.getProperty(MessageConst.PROPERTY_RETRY_TOPIC) != null;
                String topic = sentBack ? MixAll.getRetryTopic(group) : message.getTopic(); // the client changes it
                InetSocketAddress broker = (InetSocketAddress) message.getStoreHost();
                record.putInt(key(String.join("\t", group, name, topic,
                    broker.getAddress().getHostAddress() + ":" + broker.getPort(), Integer.toString(message.getQueueId()))));
                record.putInt(number(message.getBody()));
                record.putLong(message.getQueueOffset());
                record.putLong(now.getEpochSecond() * 1_000_000 + now.getNano() / 1000);
                records.write(record.array());
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private int key(String line) throws IOException {
        Integer known = keys.get(line);
        if (known == null) {
            known = keys.size();
            keys.put(line, known);
            names.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return known;
    }

    private static int number(byte[] body) {
        int place = "message ".length();
        int number = place < body.length ? 0 : -1;
        for (; place < body.length && body[place] >= '0' && body[place] <= '9'; place++) {
            number = 10 * number + body[place] - '0';
        }
        return number;
    }
}
