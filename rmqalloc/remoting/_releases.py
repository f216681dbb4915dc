"""How releases of RocketMQ differ in a rebalance, as data: one field per difference, one profile
per release line.
"""

from dataclasses import replace

from rmqalloc.dataclass import dataclass


@dataclass(frozen=True)
class Profile:
    """Behaviour of a release; the defaults are those of 5.5. Times are in milliseconds.

    Line numbers refer to the Java class in the named release.

    Attributes
    ----------
    name : str
        Release line, a key of `PROFILES`.
    returns_balanced : bool
        A pass returns whether it is balanced (else it counts as balanced).
    min_interval : int
        Minimum time between two passes of a client's rebalance service; 0 for none.
    retry_interval : int or None
        Wait after a pass that is not balanced; None for the usual wait.
    lock_retry_delay : int or None
        Delay of the extra pass after a queue could not be locked; None for no extra pass.
    drops_before_removing : bool
        All queues that a pass takes away are dropped before the first is removed (5.3.3
        ``RebalanceImpl`` 433); else each queue is removed before the next is checked (4.9.8, 342),
        so the check includes changes during the removal.
    dispatch_delay : int
        Delay of the first pull of a new process queue.
    ordered_lock_wait : int
        How long the removal of an ordered queue waits for its consume lock.
    removes_ordered_at_once : bool
        An ordered queue with an acquired consume lock is removed at once. If messages wait in it,
        it is unlocked only after ``late_unlock_delay`` (else removal and unlock are one step, and
        forced once the lock is older than that delay).
    late_unlock_delay : int
        Delay of the later unlock, or the age of the lock from which the removal is forced.
    locks_dropped : bool
        The periodic lock of all queues includes dropped queues.
    broadcasting_locks : bool
        An ordered group that broadcasts locks its queues too.
    tells_null_route : bool
        A topic without a route calls the listener with empty sets (else it only warns).
    swallows_offset_errors : bool
        The local path treats a failed offset computation as -1 (else as a skipped queue; both omit
        the queue).
    bad_offset_raises : bool
        A stored offset below -1 is an error (else it counts as -1, and an ordered queue is pulled
        from it: 4.9.8 ``DefaultMQPushConsumerImpl`` 281).
    broker_error_is_no_offset : bool
        Any answer of a broker except success counts as "no offset stored" (else only "not found"
        does).
    push_listener : bool
        A push consumer's own listener is notified of changed queues.
    server_assignment : bool
        Brokers can assign queues, by PULL or POP.
    heartbeat_v2 : bool
        Heartbeats can consist of a fingerprint.
    nano_time_names : bool
        A consumer without an instance name of its own is named by process id and nanoseconds
        (before 4.9.0: process id alone).
    freezes_offsets : bool
        A reset offset takes no further updates.
    merges_local_offsets : bool
        Local offsets are merged into their file (before 4.9.8 and 5.2.0 they replace it).
    broadcasting_is_not_told : bool
        Brokers send no notice of changed clients to groups that broadcast.
    interruptible_notices : bool
        A newer notice of a group replaces the rest of an older notice.
    channel_events_rebalance : bool
        A channel that becomes active again triggers a heartbeat and a pass.
    empty_view_is_missing : bool
        A route without a readable queue counts as missing if clients divide queues: the listener
        gets empty sets, and the pass is balanced (5.5.0 ``RebalanceImpl`` 289); else the strategy
        fails without queues, and so does the pass.
    empty_client_list_is_missing : bool
        A client list without clients changes nothing and is balanced (5.5.0 ``RebalanceImpl`` 298);
        else the strategy fails.
    asks_clients_first : bool
        The client list is requested before the route is checked, so even without a route
        (5.3.3 ``RebalanceImpl`` 289; 5.5.0 requests it in 297).
    renews_logical_locks : bool
        Locks of logical queues are renewed and released at their physical broker (5.5.0
        ``RebalanceImpl`` 143); else at a broker without an address, so not at all, unless a
        physical queue of the same broker came before them.
    static_topics : bool
        Clients support static topics (5.3.3 ``MQClientInstance`` 285); else they see the physical
        queues of the topic.
    commits_to_known_server : bool
        If the master is unknown, offsets are sent to another known server of the broker (5.3.3
        ``RemoteBrokerOffsetStore`` 209); else the route is requested first, at each commit (4.9.8,
        202).
    longest_group : int
        Maximum characters of the name of a consumer group (5.5.0 ``Validators`` 45; 5.3.3, 39).
    asks_for_a_pass_if_heard : bool
        The start of a push consumer requests a pass only if a broker could receive its heartbeat
        (5.3.3 ``DefaultMQPushConsumerImpl`` 1015; 4.9.8, 667).
    failed_start_shuts_down : bool
        A consumer that fails after it began to run is shut down (5.3.3
        ``DefaultMQPushConsumerImpl`` 1020 and ``DefaultLitePullConsumerImpl`` 313); else it
        continues to run.
    pull_passes_switch : bool
        ``enableRebalance`` of a pull consumer has an effect (5.3.3 ``DefaultMQPullConsumerImpl``
        399).
    told_subscriptions : bool
        The subscriptions in the heartbeats of a pull consumer can be set (5.3.3
        ``DefaultMQPullConsumerImpl`` 359).
    tells_more_subscriptions : bool
        Further subscriptions can be added to the heartbeats of a lite pull consumer (5.5.0
        ``DefaultLitePullConsumerImpl`` 1125).
    client_events : bool
        Listeners of a broker are notified of each new or removed channel (5.3.3
        ``ConsumerManager`` 251).
        251).
    indexes_groups : bool
        A broker's index of groups by topic contains groups (5.5.0 ``ConsumerManager`` 245), not
        topics (5.3.3, 244); 4.9 has no index.
    takes_unconfigured_groups : bool
        Brokers accept heartbeats of groups that are not configured and must not be created (4.9.8
        ``ClientManageProcessor`` 88; 5.3.3 ignores them, 108).
    collects_notices : bool
        Brokers can collect notices (5.3.3 ``DefaultConsumerIdsChangeListener`` 76).
    fast_channel_events : bool
        Brokers can index the groups of each channel (5.3.3 ``ConsumerManager`` 138).
    rejects_pull_consumers : bool
        Brokers can ignore the heartbeats of pull consumers (5.3.3 ``ClientManageProcessor`` 93).
    no_queue_offset : int
        Answer of the offset store of a group that divides queues to no queue (5.3.3
        ``RemoteBrokerOffsetStore`` 118; 4.9.8, 111).
    lock_services : int
        Number of timers that renew all locks of an ordered group. With separate timers for
        consuming and popping, every broker gets two requests (5.3.3 ``DefaultMQPushConsumerImpl``
        986).
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
