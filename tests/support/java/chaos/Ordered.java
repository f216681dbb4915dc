// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * An ordered consumer that prints a line for every message: time, queue id, offset. Arguments: name server, group, topic, instance
 * name, milliseconds that it works on a message. The command {@code cut} lets all its requests fail before they are sent, as if the
 * network were gone; {@code heal} ends that; the end of the input ends the program.
 */
public final class Ordered {
    private static volatile boolean isCut;

    private Ordered() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        System.setOut(System.err);
        int worksFor = Integer.parseInt(arguments[4]);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(arguments[1], new Wire());
        consumer.setNamesrvAddr(arguments[0]);
        consumer.setInstanceName(arguments[3]);
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.setPollNameServerInterval(1000);
        consumer.setConsumeThreadMin(2);
        consumer.setConsumeThreadMax(2);
        consumer.setPullBatchSize(32);
        consumer.subscribe(arguments[2], "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            for (MessageExt message : messages) {
                out.println(System.currentTimeMillis() + " " + message.getQueueId() + " " + message.getQueueOffset());
                try {
                    Thread.sleep(worksFor);
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            isCut = line.equals("cut");
        }
        consumer.shutdown();
        System.exit(0);
    }

    private static final class Wire implements RPCHook {
        @Override
        public void doBeforeRequest(String address, RemotingCommand request) {
            if (isCut) {
                throw new IllegalStateException("cut off");
            }
        }

        @Override
        public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {
        }
    }
}
