package io.rmqalloc.live;

import com.alibaba.fastjson2.JSONObject;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What an operator does to the cluster: topics, groups, and how a group's queues are read. */
final class Admin {
    private final DefaultMQAdminExt admin = new DefaultMQAdminExt();

    Admin(String nameServer) throws Exception {
        admin.setNamesrvAddr(nameServer);
        admin.setInstanceName("rmqalloc-admin");
        admin.start();
    }

    /** Create or change a topic on one broker: topic, broker (address), read, write, perm, attributes. */
    String topic(JSONObject command) throws Exception {
        TopicConfig config = new TopicConfig(command.getString("topic"));
        config.setReadQueueNums(command.getIntValue("read"));
        config.setWriteQueueNums(command.getIntValue("write", command.getIntValue("read")));
        config.setPerm(command.getIntValue("perm", 6));
        config.setAttributes(attributes(command));
        admin.createAndUpdateTopicConfig(command.getString("broker"), config);
        return config.getTopicName();
    }

    /** Create a group on one broker: group, broker (address), notify, attributes. The answer: whether clients are told of others. */
    boolean group(JSONObject command) throws Exception {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(command.getString("group"));
        config.setNotifyConsumerIdsChangedEnable(command.getBooleanValue("notify", true));
        config.setAttributes(attributes(command));
        String broker = command.getString("broker");
        admin.createAndUpdateSubscriptionGroupConfig(broker, config);
        return admin.examineSubscriptionGroupConfig(broker, config.getGroupName()).isNotifyConsumerIdsChangedEnable();
    }

    /** Attributes as mqadmin takes them, with a plus where they are added. */
    private static Map<String, String> attributes(JSONObject command) {
        Map<String, String> attributes = new HashMap<>();
        JSONObject given = command.getJSONObject("attributes");
        if (given != null) {
            given.forEach((key, value) -> attributes.put(key, String.valueOf(value)));
        }
        return attributes;
    }

    /** Let a group read a topic by PULL or POP: topic, group, broker (address), mode, share. */
    String mode(JSONObject command) throws Exception {
        MessageRequestMode mode = MessageRequestMode.valueOf(command.getString("mode"));
        admin.setMessageRequestMode(command.getString("broker"), command.getString("topic"), command.getString("group"),
            mode, command.getIntValue("share"), 5000);
        return mode.name();
    }

    void leave() {
        admin.shutdown();
    }
}
