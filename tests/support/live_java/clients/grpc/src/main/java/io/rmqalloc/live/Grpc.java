package io.rmqalloc.live;

import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;

/** Two push consumers behind a proxy (its endpoint, a group, a topic), until the input ends. */
public final class Grpc {
    private Grpc() {
    }

    public static void main(String[] args) throws Exception {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfiguration configuration =
            ClientConfiguration.newBuilder().setEndpoints(args[0]).enableSsl(false).build();
        for (int i = 0; i < 2; i++) {
            provider.newPushConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(args[1])
                .setSubscriptionExpressions(Map.of(args[2], FilterExpression.SUB_ALL)).setConsumptionThreadCount(1)
                .setMessageListener(message -> ConsumeResult.SUCCESS).build();
        }
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
