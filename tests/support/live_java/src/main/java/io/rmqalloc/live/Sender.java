package io.rmqalloc.live;

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** Sends messages, so that there is something to consume and to lag behind. */
final class Sender {
    private Sender() {
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
