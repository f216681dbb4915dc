"""How releases of RocketMQ differ in a rebalance, as data: one field per difference, one profile
per release line.
"""

from dataclasses import replace

from rmqalloc.dataclass import dataclass


@dataclass(frozen=True)
class Profile:
    """What a release does; the defaults are those of 5.5. Times are in milliseconds.

    Line numbers are those of the Java class in the release named.

    Attributes
    ----------
    name : str
        Release line, a key of `PROFILES`.
    returns_balanced : bool
        A pass answers whether it is balanced (else it counts as balanced).
    min_interval : int
        Least time between two passes of a client's rebalance service; 0 for none.
    retry_interval : int or None
        Wait after a pass that is not balanced; None for the usual one.
    lock_retry_delay : int or None
        Delay of the extra pass after a queue could not be locked; None for none.
    drops_before_removing : bool
        All queues that a pass takes away are dropped before the first of them is removed (5.3.3
        ``RebalanceImpl`` 433); else each is removed before the next is looked at (4.9.8, 342),
        which sees what has passed while a removal waited.
    dispatch_delay : int
        Delay of the first pull of a new process queue.
    ordered_lock_wait : int
        How long the removal of an ordered queue waits for its consume lock.
    removes_ordered_at_once : bool
        An ordered queue whose consume lock was got is removed at once and, while messages wait in
        it, unlocked only after ``late_unlock_delay`` (else removal and unlock are one, and forced
        once the lock is older than that delay).
    late_unlock_delay : int
        That later unlock, or the age of the lock from which the removal is forced.
    locks_dropped : bool
        The periodic lock of all queues includes dropped ones.
    broadcasting_locks : bool
        An ordered group that broadcasts locks its queues too.
    tells_null_route : bool
        A topic without a route calls the listener with empty sets (else it only warns).
    swallows_offset_errors : bool
        The local path takes a failed offset computation for -1 (else for a skipped queue; both
        leave the queue out).
    bad_offset_raises : bool
        A stored offset below -1 is an error (else it is answered as -1, and an ordered queue is
        pulled from it: 4.9.8 ``DefaultMQPushConsumerImpl`` 281).
    broker_error_is_no_offset : bool
        Any answer of a broker but success counts as "no offset stored" (else only "not found"
        does).
    push_listener : bool
        A push consumer's own listener hears of changed queues.
    server_assignment : bool
        Brokers can assign queues, by PULL or POP.
    heartbeat_v2 : bool
        Heartbeats can be a fingerprint.
    nano_time_names : bool
        A consumer without an instance name of its own is named by process id and nanoseconds
        (before 4.9.0: process id alone).
    freezes_offsets : bool
        An offset that was reset takes no further updates.
    merges_local_offsets : bool
        Local offsets are merged into their file (before 4.9.8 and 5.2.0 they replace it).
    broadcasting_is_not_told : bool
        Brokers send no notice of changed clients to groups that broadcast.
    interruptible_notices : bool
        A newer notice of a group replaces the rest of an older one.
    channel_events_rebalance : bool
        A channel that becomes active again triggers a heartbeat and a pass.
    empty_view_is_missing : bool
        A route without a readable queue counts as a missing one where queues are divided: the
        listener gets empty sets, the pass is balanced (5.5.0 ``RebalanceImpl`` 289); else the
        strategy fails over no queues, and so does the pass.
    empty_client_list_is_missing : bool
        A client list without clients changes nothing and is balanced (5.5.0 ``RebalanceImpl`` 298);
        else the strategy fails.
    asks_clients_first : bool
        The client list is asked for before the route is looked at, so for a missing route too
        (5.3.3 ``RebalanceImpl`` 289; 5.5.0 asks in 297).
    renews_logical_locks : bool
        Locks of logical queues are renewed, and given back, with their physical broker (5.5.0
        ``RebalanceImpl`` 143); else with a broker that has no address, so not at all, unless a
        physical queue of the same broker came before them.
    static_topics : bool
        Clients know static topics (5.3.3 ``MQClientInstance`` 285); else they see the physical
        queues of one.
    commits_to_known_server : bool
        Where a master is not known, offsets are sent to any other server of the broker that is
        known (5.3.3 ``RemoteBrokerOffsetStore`` 209); else the route is asked for first, at each
        commit (4.9.8, 202).
    longest_group : int
        Characters that the name of a consumer group may have (5.5.0 ``Validators`` 45; 5.3.3, 39).
    asks_for_a_pass_if_heard : bool
        The start of a push consumer asks for a pass only where its heartbeat had somebody to go to
        (5.3.3 ``DefaultMQPushConsumerImpl`` 1015; 4.9.8, 667).
    failed_start_shuts_down : bool
        A consumer that fails after it began to run is shut down (5.3.3
        ``DefaultMQPushConsumerImpl`` 1020 and ``DefaultLitePullConsumerImpl`` 313); else it stays
        and runs.
    pull_passes_switch : bool
        ``enableRebalance`` of a pull consumer is looked at (5.3.3 ``DefaultMQPullConsumerImpl``
        399).
    told_subscriptions : bool
        A pull consumer can be given what its heartbeats say (5.3.3 ``DefaultMQPullConsumerImpl``
        359).
    tells_more_subscriptions : bool
        A lite pull consumer can be given what its heartbeats say besides its own (5.5.0
        ``DefaultLitePullConsumerImpl`` 1125).
    client_events : bool
        Listeners of a broker hear of each channel that comes or goes (5.3.3 ``ConsumerManager``
        251).
    indexes_groups : bool
        A broker's index of groups by topic holds groups (5.5.0 ``ConsumerManager`` 245), not topics
        (5.3.3, 244); 4.9 has none.
    takes_unconfigured_groups : bool
        Brokers take the heartbeats of groups that are not configured and must not be created (4.9.8
        ``ClientManageProcessor`` 88; 5.3.3 passes them over, 108).
    collects_notices : bool
        Brokers can collect notices (5.3.3 ``DefaultConsumerIdsChangeListener`` 76).
    fast_channel_events : bool
        Brokers can keep the groups of each channel (5.3.3 ``ConsumerManager`` 138).
    rejects_pull_consumers : bool
        Brokers can pass over the heartbeats of pull consumers (5.3.3 ``ClientManageProcessor`` 93).
    no_queue_offset : int
        What the offset store of a group that divides queues answers to no queue (5.3.3
        ``RemoteBrokerOffsetStore`` 118; 4.9.8, 111).
    lock_services : int
        How many timers renew all locks of an ordered group; where consuming and popping have one
        each, every broker is asked twice (5.3.3 ``DefaultMQPushConsumerImpl`` 986).
    """

    name: str
    returns_balanced: bool = True
    min_interval: int = 1_000
    retry_interval: int | None = 1_000
    lock_retry_delay: int | None = 500
    drops_before_removing: bool = True
    dispatch_delay: int = 500
    ordered_lock_wait: int = 500
    removes_ordered_at_once: bool = False
    late_unlock_delay: int = 20_000
    locks_dropped: bool = False
    broadcasting_locks: bool = False
    tells_null_route: bool = True
    swallows_offset_errors: bool = True
    bad_offset_raises: bool = True
    broker_error_is_no_offset: bool = False
    push_listener: bool = True
    server_assignment: bool = True
    heartbeat_v2: bool = True
    nano_time_names: bool = True
    freezes_offsets: bool = True
    merges_local_offsets: bool = True
    broadcasting_is_not_told: bool = True
    interruptible_notices: bool = True
    channel_events_rebalance: bool = True
    empty_view_is_missing: bool = True
    empty_client_list_is_missing: bool = True
    asks_clients_first: bool = False
    renews_logical_locks: bool = True
    static_topics: bool = True
    commits_to_known_server: bool = True
    longest_group: int = 120
    asks_for_a_pass_if_heard: bool = True
    failed_start_shuts_down: bool = True
    pull_passes_switch: bool = True
    told_subscriptions: bool = True
    tells_more_subscriptions: bool = True
    client_events: bool = True
    indexes_groups: bool = True
    takes_unconfigured_groups: bool = False
    collects_notices: bool = True
    fast_channel_events: bool = True
    rejects_pull_consumers: bool = True
    no_queue_offset: int = -3
    lock_services: int = 2


_5_5 = Profile("5.5")
_5_3 = replace(
    _5_5,
    name="5.3",
    empty_view_is_missing=False,
    empty_client_list_is_missing=False,
    asks_clients_first=True,
    renews_logical_locks=False,
    longest_group=255,
    tells_more_subscriptions=False,
    indexes_groups=False,
)
_4_9 = replace(
    _5_3,
    name="4.9",
    returns_balanced=False,
    min_interval=0,
    retry_interval=None,
    lock_retry_delay=None,
    drops_before_removing=False,
    dispatch_delay=0,
    ordered_lock_wait=1_000,
    removes_ordered_at_once=True,
    locks_dropped=True,
    broadcasting_locks=True,
    tells_null_route=False,
    swallows_offset_errors=False,
    bad_offset_raises=False,
    broker_error_is_no_offset=True,
    push_listener=False,
    server_assignment=False,
    heartbeat_v2=False,
    freezes_offsets=False,
    broadcasting_is_not_told=False,
    interruptible_notices=False,
    channel_events_rebalance=False,
    static_topics=False,
    commits_to_known_server=False,
    asks_for_a_pass_if_heard=False,
    failed_start_shuts_down=False,
    pull_passes_switch=False,
    told_subscriptions=False,
    client_events=False,
    takes_unconfigured_groups=True,
    collects_notices=False,
    fast_channel_events=False,
    rejects_pull_consumers=False,
    no_queue_offset=-1,
    lock_services=1,
)

PROFILES = {profile.name: profile for profile in (_5_5, _5_3, _4_9)}
"""Release lines by name, newest first: ``"5.5"``, ``"5.3"`` and ``"4.9"``."""

DEFAULT_PROFILE = _5_5
"""What counts where nobody says: the newest."""
