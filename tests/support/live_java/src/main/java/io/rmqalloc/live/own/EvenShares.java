package io.rmqalloc.live.own;

import java.util.List;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.common.message.MessageQueue;

/** A user's own strategy with a name of its own, which divides as AVG does: neighbouring queues, the first clients one more. */
public final class EvenShares implements AllocateMessageQueueStrategy {
    @Override
    public List<MessageQueue> allocate(String group, String clientId, List<MessageQueue> queues, List<String> clientIds) {
        int position = clientIds.indexOf(clientId);
        if (position < 0) {
            return List.of();
        }
        int least = queues.size() / clientIds.size();
        int withOneMore = queues.size() % clientIds.size();
        int from = position * least + Math.min(position, withOneMore);
        return List.copyOf(queues.subList(from, from + least + (position < withOneMore ? 1 : 0)));
    }

    @Override
    public String getName() {
        return "EVEN_SHARES";
    }
}
