package io.rmqalloc.live;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingException;

/** Sends messages, so that there is something to consume and to lag behind: "message 0", "message 1", ... */
final class Sender {
    private static final int PATIENCE_MS = 1000;
    private static final int SIZE = 100;

    private static volatile boolean flowing;
    private static final List<Thread> FLOWS = new ArrayList<>();
    private static final AtomicInteger NEXT = new AtomicInteger();
    private static final AtomicInteger SENT = new AtomicInteger();
    private static final List<Integer> UNSURE = new ArrayList<>();

    private Sender() {
    }

    /**
     * Send to a topic, so many messages a second, until {@link #still}; each broker has a thread of its own, so that one which
     * does not answer holds nothing up at another.
     */
    static void flow(String nameServer, String topic, int perSecond, int from) throws Exception {
        DefaultMQProducer producer = producer(nameServer, "rmqalloc-flow");
        List<String> brokers = producer.fetchPublishMessageQueues(topic).stream().map(MessageQueue::getBrokerName).distinct()
            .collect(Collectors.toList());
        flowing = true;
        NEXT.set(from);
        SENT.set(0);
        UNSURE.clear();
        AtomicInteger left = new AtomicInteger(brokers.size());
        for (String broker : brokers) {
            Thread flow = new Thread(() -> {
                for (int turn = 0; flowing; turn++) {
                    sendOne(producer, topic, broker, turn);
                    pause(1000L * brokers.size() / perSecond);
                }
                if (left.decrementAndGet() == 0) {
                    producer.shutdown();
                }
            }, "flow-" + broker);
            FLOWS.add(flow);
            flow.start();
        }
    }

    private static void sendOne(DefaultMQProducer producer, String topic, String broker, int turn) {
        List<MessageQueue> queues;
        try {
            queues = producer.fetchPublishMessageQueues(topic).stream().filter(one -> one.getBrokerName().equals(broker))
                .sorted().collect(Collectors.toList());
        } catch (MQClientException error) {
            return; // no route for the time being
        }
        if (queues.isEmpty()) {
            return;
        }
        int number = NEXT.getAndIncrement();
        try {
            SendStatus status = producer.send(message(topic, number, 0), queues.get(turn % queues.size())).getSendStatus();
            if (status == SendStatus.SEND_OK) {
                SENT.incrementAndGet();
                return;
            }
        } catch (Exception error) {
            // whether the broker has it cannot be known
        }
        synchronized (UNSURE) {
            UNSURE.add(number);
        }
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            flowing = false;
        }
    }

    /** End the flow: how many messages were sent, the number of the next, and those that may or may not have been sent. */
    static Map<String, Object> still() throws InterruptedException {
        flowing = false;
        for (Thread flow : FLOWS) {
            flow.join();
        }
        FLOWS.clear();
        return new TreeMap<>(Map.of("sent", SENT.get(), "next", NEXT.get(), "unsure", new ArrayList<>(UNSURE)));
    }

    /**
     * Send so many messages, each on its own or so many in a batch, which have about a hundred bytes each; the numbers of those
     * that may or may not have been sent.
     */
    static List<Integer> send(String nameServer, String topic, int count, int batch, int from) throws Exception {
        List<Integer> unsure = new ArrayList<>();
        DefaultMQProducer producer = producer(nameServer, "rmqalloc-sender");
        producer.setSendMsgTimeout(30_000);
        try {
            for (int i = 0; i < count; i += batch) {
                List<Message> messages = new ArrayList<>();
                for (int j = i; j < Math.min(count, i + batch); j++) {
                    messages.add(message(topic, from + j, batch > 1 ? SIZE : 0));
                }
                if (batch == 1) {
                    producer.send(messages.get(0));
                    continue;
                }
                try {
                    producer.send(messages);
                } catch (MQClientException | MQBrokerException | RemotingException error) {
                    for (int j = 0; j < messages.size(); j++) {
                        unsure.add(from + i + j);
                    }
                    if (unsure.size() > count / 10) {
                        throw error;
                    }
                }
            }
        } finally {
            producer.shutdown();
        }
        return unsure;
    }

    private static DefaultMQProducer producer(String nameServer, String group) throws MQClientException {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(PATIENCE_MS);
        producer.setRetryTimesWhenSendFailed(0); // or a message that a slow broker took after all would be there twice
        producer.setPollNameServerInterval(1000);
        producer.start();
        return producer;
    }

    private static Message message(String topic, int number, int size) {
        byte[] body = ("message " + number).getBytes(StandardCharsets.US_ASCII);
        byte[] padded = Arrays.copyOf(body, Math.max(size, body.length));
        Arrays.fill(padded, body.length, padded.length, (byte) ' ');
        return new Message(topic, padded);
    }
}
