package io.rmqalloc.live;

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** Sends messages, so that there is something to consume and to lag behind. */
final class Sender {
    private static volatile boolean flowing;
    private static Thread flow;
    private static int flowed;

    private Sender() {
    }

    /** Send to a topic, so many messages a second, until {@link #still}. */
    static void flow(String nameServer, String topic, int perSecond) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("rmqalloc-flow");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        flowing = true;
        flowed = 0;
        flow = new Thread(() -> {
            try {
                for (; flowing; flowed++) {
                    producer.send(new Message(topic, ("message " + flowed).getBytes(StandardCharsets.UTF_8)));
                    Thread.sleep(1000 / perSecond);
                }
            } catch (Exception error) {
                throw new IllegalStateException(error);
            } finally {
                producer.shutdown();
            }
        }, "flow");
        flow.start();
    }

    /** End the flow; returns how many messages were sent. */
    static int still() throws InterruptedException {
        flowing = false;
        flow.join();
        return flowed;
    }

    static int send(String nameServer, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("rmqalloc-sender");
        producer.setNamesrvAddr(nameServer);
        producer.start();
        try {
            for (int i = 0; i < count; i++) {
                producer.send(new Message(topic, ("message " + i).getBytes(StandardCharsets.UTF_8)));
            }
        } finally {
            producer.shutdown();
        }
        return count;
    }
}
