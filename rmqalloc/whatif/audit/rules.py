"""All rules of an audit by their ids, which never change their meaning."""

from __future__ import annotations

from rmqalloc.whatif.audit import actual, config, dry, mixed, names, ownership, planned, server, views
from rmqalloc.whatif.audit.finding import Rule

RULES: dict[str, Rule] = {
    "unowned-queue": Rule(
        "Queue without an owner",
        "By what is known of the clients none of them takes the queue, so its messages wait.",
        "Remove the cause that the finding names: repeated ids, different strategies, subscriptions or routes.",
        "error",
        ownership.unowned_queue,
    ),
    "double-owned-queue": Rule(
        "Queue with several owners",
        "By what is known of the clients several of them take the queue, so its messages are consumed more than once.",
        "Remove the cause that the finding names: repeated ids, different strategies, subscriptions or routes.",
        "error",
        ownership.double_owned_queue,
    ),
    "duplicate-client-id": Rule(
        "Client id used twice",
        "Strategies look for the first place of an id in the client list: all holders of it take that place's queues, "
        "and nobody those of its other places. With CONSISTENT_HASH all holders take the same, about double share.",
        "Give every process an instance name of its own.",
        "error",
        ownership.duplicate_client_id,
    ),
    "idle-client": Rule(
        "Client without a queue",
        "A client that owns no queue of any topic consumes nothing; retry topics do not count.",
        "Stop it or raise the read queues; an even number of clients divides the queues.",
        "warning",
        ownership.idle_client,
    ),
    "mixed-strategies": Rule(
        "Different strategies in one group",
        "Every client computes the allocation alone and relies on the others to use the same strategy.",
        "Give all clients the same strategy.",
        "error",
        mixed.mixed_strategies,
    ),
    "mixed-virtual-nodes": Rule(
        "Different numbers of virtual nodes in one group",
        "Rings with different numbers of virtual nodes give queues different owners.",
        "Give all clients the same number of virtual nodes.",
        "error",
        mixed.mixed_virtual_nodes,
    ),
    "mixed-subscriptions": Rule(
        "Different subscriptions in one group",
        "A topic's queues are divided among all clients of the group, also those that do not subscribe to it; "
        "and every heartbeat replaces the broker's table of subscriptions with that client's.",
        "Let all clients of a group subscribe to the same topics.",
        "error",
        mixed.mixed_subscriptions,
    ),
    "mixed-languages": Rule(
        "Different SDKs in one group",
        "SDKs give some strategies the same name and compute something else: Go's CONSISTENT_HASH, AllocateByMachineNearby and "
        "AllocateByMachineRoom are not Java's.",
        "Let one SDK consume for one group, or take AVG.",
        "error",
        mixed.mixed_languages,
    ),
    "mixed-versions": Rule(
        "Releases of different major numbers in one group",
        "Clients before 5.0 rebalance by other timers and never let brokers assign their queues.",
        "Finish the upgrade.",
        "warning",
        mixed.mixed_versions,
    ),
    "stale-route": Rule(
        "Client with an old route",
        "Clients that see other queues than the rest divide other queues: some are then owned by nobody, some twice.",
        "Wait for the next poll of routes (30 s); if it stays, look at the client's name servers.",
        "warning",
        views.stale_route,
    ),
    "split-client-list": Rule(
        "Brokers list different clients",
        "Every client asks a random broker of the topic for the client list; where these differ, so do the allocations.",
        "Wait for the next heartbeats (30 s); if it stays, look for clients that cannot reach every broker.",
        "warning",
        views.split_client_list,
    ),
    "config-overlap": Rule(
        "Queue in several lists of CONFIG",
        "CONFIG takes what it is given; a queue in two lists is consumed twice.",
        "Let every queue stand in one list only.",
        "error",
        config.config_overlap,
    ),
    "config-hole": Rule(
        "Queue in no list of CONFIG",
        "CONFIG takes what it is given; a queue in no list is not consumed.",
        "Put the queue into the list of a client.",
        "error",
        config.config_hole,
    ),
    "config-unknown-queue": Rule(
        "Queue of CONFIG that does not exist",
        "A listed queue is not in the route, or its topic is not one that the group reads.",
        "Correct the list.",
        "error",
        config.config_unknown_queue,
    ),
    "unsupported-server-strategy": Rule(
        "Brokers are to divide by a strategy they do not know",
        "Brokers know AVG and AVG_BY_CIRCLE; for any other name they answer with nothing and the client skips the update.",
        "Take AVG or AVG_BY_CIRCLE, or let the clients divide.",
        "error",
        server.unsupported_server_strategy,
    ),
    "actual-unowned": Rule(
        "Queue that nobody owns now",
        "All clients told what they own, and the queue is not among it.",
        "Look again after 20 s; then restart the client that should own it.",
        "error",
        actual.actual_unowned,
    ),
    "actual-double-owned": Rule(
        "Queue that several clients own now",
        "Several clients told that they own the queue.",
        "Look again after 20 s; then compare strategies, subscriptions and client lists.",
        "error",
        actual.actual_double_owned,
    ),
    "differs-from-expected": Rule(
        "Other owners than the strategy gives",
        "What the clients own is not what the group's strategy computes; the strategy that fits best is named.",
        "Look again after 20 s; then find out which strategy the clients really use.",
        "warning",
        actual.differs_from_expected,
    ),
    "differs-from-plan": Rule(
        "Queue that is not where the plan puts it",
        "A saved plan said who owns which queue afterwards, and it is not so.",
        "Do what is left of the plan, or make a new one.",
        "warning",
        planned.differs_from_plan,
    ),
    "only-dry-queues": Rule(
        "Client whose queues get no new messages",
        "Consumers see queues by read permission: a client may own nothing but queues that nobody writes to.",
        "Take read permission away once the queues are empty.",
        "warning",
        dry.only_dry_queues,
    ),
    "topic-without-route": Rule(
        "Subscribed topic that cannot be read",
        "The topic is not there, or no broker of it has readable queues.",
        "Create the topic, give read permission, or end the subscription.",
        "warning",
        dry.topic_without_route,
    ),
    "dry-queue": Rule(
        "Queue that gets no new messages",
        "Its broker is not writable, or it has fewer write than read queues.",
        "Nothing in maintenance or while queues are being removed; else raise the write queues.",
        "note",
        dry.dry_queue,
    ),
    "expected-not-known": Rule(
        "Expected owners are not known",
        "The snapshot does not say enough to compute who should own the queues.",
        "Add what is missing to the snapshot.",
        "note",
        server.expected_not_known,
    ),
    "owners-not-told": Rule(
        "Client that did not say what it owns",
        "Some clients of the group answered and some did not, so it is not known which queues have no owner.",
        "Ask again.",
        "note",
        actual.owners_not_told,
    ),
    "name-perhaps-cut": Rule(
        "Name that may have been cut",
        "mqadmin cuts topics at 64 and broker names at 32 characters, and names of just that length may have been longer; "
        "a cut name sorts and hashes as another.",
        "Take the names from a source that does not cut them.",
        "note",
        names.name_perhaps_cut,
    ),
}
"""The order is that of a group's findings of one severity."""
