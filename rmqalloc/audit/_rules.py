"""All rules of an audit by id; an id never changes its meaning."""

from __future__ import annotations

from rmqalloc.audit import (
    _rules_brokers as rules_brokers,
)
from rmqalloc.audit import (
    _rules_config as rules_config,
)
from rmqalloc.audit import (
    _rules_idle as rules_idle,
)
from rmqalloc.audit import (
    _rules_mixed as rules_mixed,
)
from rmqalloc.audit import (
    _rules_owners as rules_owners,
)
from rmqalloc.audit import (
    _rules_reported as rules_reported,
)
from rmqalloc.audit import (
    _rules_rooms as rules_rooms,
)
from rmqalloc.audit import (
    _rules_topics as rules_topics,
)
from rmqalloc.audit import (
    _rules_unread as rules_unread,
)
from rmqalloc.audit import (
    rules_planned,
)
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import Rule

RULES: dict[str, Rule] = {
    "unowned-queue": Rule(
        "Queue without an owner",
        "None of the known clients takes the queue, so its messages wait.",
        "Remove the cause that the finding names: repeated ids, different strategies, subscriptions or routes.",
        "error",
        rules_owners.unowned_queue,
    ),
    "double-owned-queue": Rule(
        "Queue with several owners",
        "Several of the known clients take the queue, so its messages are consumed more than once.",
        "Remove the cause that the finding names: repeated ids, different strategies, subscriptions or routes.",
        "error",
        rules_owners.double_owned_queue,
    ),
    "duplicate-client-id": Rule(
        "Client id used twice",
        "Strategies look for the first place of an id in the client list: all holders of it take that place's queues, "
        "and nobody those of its other places. With CONSISTENT_HASH all holders take the same, about double share.",
        "Give every process an instance name of its own.",
        "error",
        rules_owners.duplicate_client_id,
    ),
    "idle-client": Rule(
        "Client without a queue",
        "A client that owns no queue of any topic consumes nothing; retry topics do not count.",
        "Stop it. Under AVG and AVG_BY_CIRCLE every client has a queue if a topic has as many as the group has clients; rings, "
        "machine rooms and lists leave clients out with more queues than that.",
        "warning",
        rules_idle.idle_client,
        Sign.IDLE,
    ),
    "mixed-strategies": Rule(
        "Different strategies in one group",
        "Every client computes the allocation alone and relies on the others to use the same strategy.",
        "Give all clients the same strategy.",
        "error",
        rules_mixed.mixed_strategies,
        Sign.KINDS,
    ),
    "mixed-virtual-nodes": Rule(
        "Different numbers of virtual nodes in one group",
        "Rings with different numbers of virtual nodes give queues different owners.",
        "Give all clients the same number of virtual nodes.",
        "error",
        rules_mixed.mixed_virtual_nodes,
        Sign.KINDS,
    ),
    "mixed-subscriptions": Rule(
        "Different subscriptions in one group",
        "A topic's queues are divided among all clients of the group, also those that do not subscribe to it; and every "
        "heartbeat replaces the broker's table of subscriptions with that client's. If clients take different tags of a topic, "
        "or have different SQL92 conditions, a message that the owner of its queue does not take is skipped for ever.",
        "Let all clients of a group subscribe to the same topics, with the same tags.",
        "error",
        rules_mixed.mixed_subscriptions,
        Sign.FILTERS,
    ),
    "mixed-languages": Rule(
        "Different SDKs in one group",
        "SDKs give some strategies the same name and compute something else: Go's CONSISTENT_HASH, AllocateByMachineNearby and "
        "AllocateByMachineRoom are not Java's, and C++'s client has AVG alone. What each client computes is compared.",
        "Let one SDK consume for one group, or take AVG.",
        "error",
        rules_mixed.mixed_languages,
        Sign.KINDS,
    ),
    "mixed-versions": Rule(
        "Releases of different major numbers in one group",
        "Java clients before 5.0 rebalance by other timers and never let brokers assign their queues. Only clients of one "
        "language are compared: other SDKs report a fixed number, Go's always 4.5.2.",
        "Finish the upgrade.",
        "warning",
        rules_mixed.mixed_versions,
        Sign.KINDS,
    ),
    "stale-route": Rule(
        "Client with an old route",
        "Clients that see different queues divide different queues: some are then owned by nobody, some twice.",
        "Wait for the next poll of routes (30 s); if it stays, look at the client's name servers.",
        "warning",
        rules_mixed.stale_route,
    ),
    "split-client-list": Rule(
        "Brokers list different clients",
        "Every client asks a random broker of the topic for the client list; where these differ, so do the allocations.",
        "Wait for the next heartbeats (30 s); if it stays, look for clients that cannot reach every broker.",
        "warning",
        rules_mixed.split_client_list,
    ),
    "config-overlap": Rule(
        "Queue in several lists of CONFIG",
        "CONFIG takes what it is given; a queue in two lists is consumed twice.",
        "Let every queue stand in one list only.",
        "error",
        rules_config.config_overlap,
    ),
    "config-hole": Rule(
        "Queue in no list of CONFIG",
        "CONFIG takes what it is given; a queue in no list is not consumed.",
        "Put the queue into the list of a client.",
        "error",
        rules_config.config_hole,
    ),
    "config-unknown-queue": Rule(
        "Queue of CONFIG that does not exist",
        "A listed queue is not in the route, or its topic is not one that the group reads.",
        "Correct the list.",
        "error",
        rules_config.config_unknown_queue,
    ),
    "unsupported-server-strategy": Rule(
        "Brokers are to divide by a strategy they do not know",
        "Brokers know AVG and AVG_BY_CIRCLE; for any other name they answer with nothing and the client skips the update.",
        "Take AVG or AVG_BY_CIRCLE, or let the clients divide.",
        "error",
        rules_config.unsupported_server_strategy,
    ),
    "missing-machine-room": Rule(
        "Client or broker without a machine room",
        "MACHINE_ROOM_NEARBY divides nothing if the room of one client of the group, or of one broker of the topic, is "
        "missing: no client takes or gives up a queue any more. Found only where other rooms are known.",
        "Give every client and every broker a machine room.",
        "error",
        rules_rooms.missing_machine_room,
        Sign.ROOMS,
    ),
    "no-consumer": Rule(
        "Topic that no client of the group consumes",
        "The group subscribes to the topic and has no client, or none that subscribes: messages wait. A note where the backlog "
        "is not known, nothing where there is none.",
        "Start its clients, or delete the group.",
        "error",
        rules_unread.no_consumer,
    ),
    "written-not-read": Rule(
        "Queue that is written and not read",
        "A broker has more write than read queues: producers use all of them, consumers see the first ones only.",
        "Raise the read queues to the write queues.",
        "error",
        rules_unread.written_not_read,
        Sign.ROUTES,
    ),
    "unreadable-broker": Rule(
        "Broker that is writable and not readable",
        "Producers go on writing to the broker, and no consumer may read there.",
        "Give read permission back, or take write permission away first.",
        "error",
        rules_unread.unreadable_broker,
        Sign.ROUTES,
    ),
    "stranded-backlog": Rule(
        "Backlog in a queue that consumers do not see",
        "Messages of the group wait in a queue that is not in the route, as after read queues were removed too early.",
        "Raise the read queues or give read permission back until the queue is empty.",
        "error",
        rules_unread.stranded_backlog,
        Sign.LAGS,
    ),
    "consumption-disabled": Rule(
        "Broker that does not let the group consume",
        "consumeEnable of the group is false in the broker's settings: the broker refuses every pull and pop of the group.",
        "Set consumeEnable of the group to true there, unless it is paused on purpose.",
        "error",
        rules_unread.consumption_disabled,
        Sign.PAUSED,
    ),
    "actual-unowned": Rule(
        "Queue that nobody owns now",
        "All clients reported what they own, and none of them owns the queue. A warning while a client that should own it is "
        "new (under 56 s) or of unknown age in a running cluster.",
        "Look again after 20 s, of new clients after 50 s, of an ordered group after 60 s (locks of a client that died); then "
        "restart the client that should own it.",
        "error",
        rules_reported.actual_unowned,
    ),
    "actual-double-owned": Rule(
        "Queue that several clients own now",
        "Several clients report that they own the queue.",
        "Look again after 20 s; then compare strategies, subscriptions and client lists.",
        "error",
        rules_reported.actual_double_owned,
    ),
    "owned-not-in-route": Rule(
        "Owned queue that the route does not have",
        "A client reports a queue whose broker or id is not in the route.",
        "Look again after 30 s; then compare name servers and, with CONFIG, lists.",
        "warning",
        rules_unread.owned_not_in_route,
        Sign.OWNED,
    ),
    "differs-from-expected": Rule(
        "Other owners than the strategy gives",
        "What the clients own is not what the group's strategy computes; the strategy that fits best is named.",
        "Look again after 20 s; then find out which strategy the clients really use.",
        "warning",
        rules_reported.differs_from_expected,
    ),
    "differs-from-plan": Rule(
        "Queue that is not where the plan puts it",
        "The owner of the queue is not the one that a saved plan gives it.",
        "Do what is left of the plan, or make a new one.",
        "warning",
        rules_planned.differs_from_plan,
        Sign.PLAN,
    ),
    "only-dry-queues": Rule(
        "Client whose queues get no new messages",
        "Consumers see queues by read permission: a client may own nothing but queues that nobody writes to.",
        "Once the queues are empty, lower the read queues to the write queues, or take read permission away where there is no "
        "write permission.",
        "warning",
        rules_topics.only_dry_queues,
        Sign.ROUTES,
    ),
    "topic-without-route": Rule(
        "Subscribed topic that cannot be read",
        "The topic is not there, or no broker of it has readable queues.",
        "Create the topic, give read permission, or end the subscription.",
        "warning",
        rules_topics.topic_without_route,
        Sign.ROUTES,
    ),
    "no-master": Rule(
        "Broker without a master",
        "Only a slave is left: nothing can be written to the queues there, and what the slave had not copied is not consumed.",
        "Start the master again, or let a slave become master.",
        "error",
        rules_brokers.no_master,
        Sign.BROKERS,
    ),
    "silent-broker": Rule(
        "Broker that does not answer",
        "The name server lists the broker, and it does not answer within the time that an answer may take.",
        "Look at the broker's process and its network.",
        "warning",
        rules_brokers.silent_broker,
        Sign.BROKERS,
    ),
    "ordered-lock-holder-gone": Rule(
        "Ordered queues that nobody can lock",
        "An ordered consumer must hold the lock of a queue, which only a master gives, or a slave that stands in for it.",
        "Start the master again, or let a slave become master.",
        "error",
        rules_brokers.ordered_lock_holder_gone,
        Sign.BROKERS,
    ),
    "lag-from-slave": Rule(
        "Lag read from a slave",
        "How far queues were consumed was read from a slave; what it had not copied from its master does not count.",
        "Look again when the master is back.",
        "note",
        rules_brokers.lag_from_slave,
        Sign.BROKERS,
    ),
    "shared-queues": Rule(
        "Clients that share queues",
        "Clients behind a proxy (gRPC) share the messages of every queue, so no queue has an owner and none is looked for.",
        "Nothing; let clients that divide queues have a group of their own.",
        "note",
        rules_config.shared_queues,
    ),
    "lite-topics": Rule(
        "Group for lite topics",
        "Clients of a group with the attribute lite.bind.topic (RocketMQ 5.5) subscribe to lite topics one by one: no queue "
        "has an owner, and which lite topics are read is not shown.",
        "Nothing; mqadmin getLiteGroupInfo shows them.",
        "note",
        rules_config.lite_topics,
    ),
    "dry-queue": Rule(
        "Queue that gets no new messages",
        "Its broker is not writable, or it has fewer write than read queues.",
        "Nothing in maintenance or while queues are being removed; else raise the write queues.",
        "note",
        rules_topics.dry_queue,
        Sign.ROUTES,
    ),
    "expected-not-known": Rule(
        "Expected owners are not known",
        "The snapshot does not say enough to compute who should own the queues.",
        "Add what is missing to the snapshot.",
        "note",
        rules_config.expected_not_known,
    ),
    "strategy-assumed": Rule(
        "Strategy that is assumed",
        "The clients' strategy is neither stated nor reported nor clear from what they own; RocketMQ's default is assumed.",
        "State the strategy.",
        "note",
        rules_config.strategy_assumed,
        Sign.DOUBT,
    ),
    "silent-client": Rule(
        "Client that does not answer",
        "Brokers list the client, and it does not answer when asked what it owns.",
        "Ask again; if it stays silent, look whether the process hangs.",
        "warning",
        rules_reported.silent_client,
    ),
    "owners-not-told": Rule(
        "Client that did not report what it owns",
        "Some clients of the group answered and some did not, so it is not known which queues have no owner.",
        "Ask again.",
        "note",
        rules_reported.owners_not_reported,
    ),
    "name-perhaps-cut": Rule(
        "Name that may have been cut",
        "mqadmin cuts topics at 64 and broker names at 32 characters, and names of just that length may have been longer; "
        "a cut name sorts and hashes as another.",
        "Take the names from a source that does not cut them.",
        "note",
        rules_owners.name_perhaps_cut,
        Sign.ROUTES,
    ),
}
"""The order is that of a group's findings of one severity."""
