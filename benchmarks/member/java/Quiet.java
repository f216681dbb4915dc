import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** Java's own consumer in the place of {@code consumer.py}: same arguments, same answers. */
public final class Quiet {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // the client's logging writes there
        List<String> topics = Arrays.asList(arguments).subList(3, arguments.length);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(arguments[1]);
        consumer.setNamesrvAddr(arguments[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPullThresholdForQueue(Math.max(32, 4_000 / topics.size()));
        consumer.setClientCallbackExecutorThreads(2);
        for (String topic : topics) {
            consumer.subscribe(topic, "*");
        }
        if (arguments[2].equals("in_order")) {
            consumer.registerMessageListener(
                (MessageListenerOrderly) (messages, context) -> ConsumeOrderlyStatus.SUCCESS);
        } else {
            consumer.registerMessageListener(
                (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        }
        consumer.start();
        DefaultMQPushConsumerImpl impl = consumer.getDefaultMQPushConsumerImpl();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (in.readLine() != null) {
            long consumed = 0;
            long queues = 0;
            for (String topic : topics) {
                consumed += impl.getOffsetStore().cloneOffsetTable(topic).values().stream().mapToLong(Long::longValue).sum();
            }
            queues = impl.getRebalanceImpl().getProcessQueueTable().keySet().stream()
                .filter(queue -> topics.contains(queue.getTopic())).count();
            out.println(consumed + " " + queues);
        }
        consumer.shutdown();
        System.exit(0);
    }
}
