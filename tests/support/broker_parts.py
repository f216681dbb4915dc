"""Parts that the tests of the broker half share: channels that remember, and heartbeats in short."""

from rmqalloc.remoting import PROFILES, ConsumerData, MessageModel, SubscriptionData

NEW, OLD = PROFILES["5.5"], PROFILES["4.9"]
BOTH = [NEW, OLD]


class RememberingChannel:
    """A channel that remembers what was sent and whether it was closed."""

    def __init__(self, on_notice=None):
        self.notices = []
        self.closed = False
        self.on_notice = on_notice

    def notify_consumer_ids_changed(self, consumer_group):
        self.notices.append(consumer_group)
        if self.on_notice is not None:
            self.on_notice()

    def close(self):
        self.closed = True


class RememberingListener:
    """A listener that remembers every event, and may fail."""

    def __init__(self, fails=False):
        self.heard = []
        self.fails = fails

    def handle(self, event, consumer_group, *arguments):
        self.heard.append((event.name, consumer_group, *arguments))
        if self.fails:
            raise ValueError("a listener's own trouble")

    def names(self):
        return [event[0] for event in self.heard]


def heard_of(group, topics=("t",), version=0, **more):
    """What a heartbeat tells of a group."""
    subscriptions = frozenset(SubscriptionData(topic, "*", version) for topic in topics)
    return ConsumerData(group, subscriptions=subscriptions, **more)


def broadcasting(group):
    return heard_of(group, message_model=MessageModel.BROADCASTING)
