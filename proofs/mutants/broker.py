"""Mutants of the broker half, of the consumers and of the profiles of releases."""

from mutants.mutant import Mutant

_LISTENER = "rmqalloc/broker/_change_listener.py"
_MANAGER = "rmqalloc/broker/_consumer_manager.py"
_BROKER = "rmqalloc/broker/_broker.py"
_ASSIGNMENT = "rmqalloc/broker/_query_assignment.py"
_PROFILE = "rmqalloc/remoting/_releases.py"
_NOTICES = "tests/broker/test_broker_notices.py"
_CONSUMERS = "tests/broker/test_broker_consumers.py"
_WHOLE = "tests/broker/test_broker.py"
_PROFILES = "tests/rebalance/test_rebalance_profiles.py"
_KINDS = "tests/rebalance/test_rebalance_consumers.py"

MUTANTS = [
    # --- Notices ---
    Mutant(
        _LISTENER,
        "        if not self.notify_consumer_ids_changed_enable:\n            return",
        "        if not channels or not self.notify_consumer_ids_changed_enable:\n            return",
        "an empty list neither replaces an older one nor ends a round",
        _NOTICES,
    ),
    Mutant(
        _LISTENER,
        "            if self.notify_consumer_ids_changed_enable:\n                for",
        "            if channels:\n                for",
        "the broker's flag does not count at the flush",
        f"{_NOTICES} -k collected_and_when",
    ),
    Mutant(
        _LISTENER,
        "collected, self._collected = self._collected, {}",
        "collected = self._collected",
        "collected notices go out at every flush",
        f"{_NOTICES} -k collected",
    ),
    Mutant(
        _LISTENER,
        "if self._interruptible and self._being_told.get(consumer_group) is not this_round:",
        "if self._being_told.get(consumer_group) is not this_round:",
        "a newer list ends an older round in every release",
        _NOTICES,
    ),
    Mutant(
        _LISTENER,
        "        if self._being_told.get(consumer_group) is this_round:\n            del",
        "        if channels:\n            del",
        "a round that was overtaken takes away a mark that is not its own",
        f"{_NOTICES} -k newer_list",
    ),
    Mutant(
        _LISTENER,
        "if self.real_time or not self._can_collect:",
        "if self.real_time:",
        "4.9 collects notices",
        f"{_NOTICES} -k do_not_collect",
    ),
    # --- Groups and channels ---
    Mutant(
        _MANAGER,
        "            client = self.client(client_id)\n",
        "            client = self.client('') if client_id is None else ClientChannelInfo('x', self._clock.now())\n",
        "listeners do not hear who says that it leaves",
        f"{_CONSUMERS} -k who_says",
    ),
    Mutant(
        _MANAGER,
        "list(self._entered.pop(channel, ())) if self.fast_channel_events else list(self.groups)",
        "list(self.groups)",
        "with fast channel events a close reaches groups of short heartbeats",
        _CONSUMERS,
    ),
    Mutant(
        _MANAGER,
        "if is_new and self.fast_channel_events and channel",
        "if self.fast_channel_events and channel",
        "with fast channel events any full heartbeat enters a group",
        f"{_CONSUMERS} -k fast_path",
    ),
    Mutant(
        _MANAGER,
        "fast_channel_events and profile.fast_channel_events",
        "fast_channel_events",
        "4.9 knows fast channel events",
        f"{_CONSUMERS} -k fast_path",
    ),
    Mutant(
        _MANAGER,
        "group.remove_channel(channel)\n                channel.close()",
        "channel.close()",
        "the scan closes a channel and keeps it",
        f"{_CONSUMERS} -k scan",
    ),
    Mutant(
        _MANAGER,
        "consumer_group if indexes_groups else topic",
        "consumer_group",
        "the index of 5.3 holds groups",
        f"{_CONSUMERS} -k index",
    ),
    Mutant(
        _MANAGER,
        "        if self._profile.client_events:\n",
        "        if self._profile:\n",
        "listeners of 4.9 hear of single clients",
        f"{_CONSUMERS} -k single",
    ),
    # --- The broker ---
    Mutant(
        _BROKER,
        "self._fingerprints.get(data.consumer_group, heartbeat.fingerprint) != heartbeat.fingerprint",
        "self._fingerprints.get(data.consumer_group) != heartbeat.fingerprint",
        "a group that nobody knew counts as changed",
        _WHOLE,
    ),
    Mutant(
        _BROKER,
        "changed = not heartbeat.fingerprint",
        "changed = False",
        "the first form is answered as unchanged",
        _WHOLE,
    ),
    Mutant(
        _BROKER,
        "register(channel, client, data,",
        "register(channel, heartbeat.client_id, data,",
        "groups of one heartbeat expire each for itself",
        f"{_WHOLE} -k one_heartbeat",
    ),
    Mutant(
        _BROKER,
        "reject_pull_consumers and profile.rejects_pull_consumers",
        "reject_pull_consumers",
        "4.9 passes pull consumers over",
        f"{_WHOLE} -k passed_over",
    ),
    Mutant(
        _BROKER,
        "self._subscription_group(consumer_group) or SubscriptionGroup()",
        "self.subscription_groups.get(consumer_group, SubscriptionGroup())",
        "leaving configures no group",
        f"{_WHOLE} -k leaving",
    ),
    Mutant(
        _ASSIGNMENT,
        "and not topic.startswith(RETRY_PREFIX):\n                self._views.pop",
        "and topic:\n                self._views.pop",
        "a retry topic that is gone is forgotten",
        "tests/broker/test_broker_assignment.py -k gone",
    ),
    Mutant(
        _ASSIGNMENT,
        "if not self._views.get(topic):",
        "if topic not in self._views:",
        "a topic without queues is not asked for again",
        "tests/broker/test_broker_assignment.py -k whenever",
    ),
    # --- What 5.5 does, and 4.9 does not ---
    Mutant(
        "rmqalloc/rebalance/_rebalance_impl.py",
        "if factory.profile.empty_view_is_missing and not view:",
        "if factory.profile.empty_view_is_missing and view is None:",
        "a view without queues fails the strategy in 5.5",
        f"{_PROFILES} -k missing_route",
    ),
    Mutant(
        "rmqalloc/rebalance/_rebalance_impl.py",
        "if view is not None or factory.profile.asks_clients_first:",
        "if factory:",
        "5.5 asks for the clients of a topic without a route",
        f"{_PROFILES} -k missing_route",
    ),
    Mutant(
        "rmqalloc/rebalance/_rebalance_impl.py",
        " or (factory.profile.empty_client_list_is_missing and not client_ids)",
        "",
        "an empty client list fails the strategy in 5.5",
        f"{_PROFILES} -k empty_client_list",
    ),
    Mutant(
        "rmqalloc/rebalance/_rebalance_impl.py",
        "broker if factory.profile.renews_logical_locks else queue.broker_name",
        "broker",
        "5.3 renews the locks of logical queues",
        f"{_PROFILES} -k logical",
    ),
    Mutant(
        "rmqalloc/rebalance/_client_factory.py",
        "if route.topic_queue_mapping and not self.profile.static_topics:",
        "if False:",
        "4.9 knows static topics",
        f"{_PROFILES} -k static",
    ),
    Mutant(
        "rmqalloc/rebalance/offset_store.py",
        "master_first = not self._factory.profile.commits_to_known_server",
        "master_first = False",
        "4.9 commits to a slave without asking for the route",
        f"{_PROFILES} -k commit",
    ),
    Mutant(_PROFILE, "DEFAULT_PROFILE = _5_5", "DEFAULT_PROFILE = _5_3", "5.3 counts where nobody says", _PROFILES),
    # --- Consumers ---
    Mutant(
        "rmqalloc/rebalance/_consumer.py",
        "return ConsumeFromWhere.LAST_OFFSET if active else self.consume_from_where",
        "return self.consume_from_where",
        "heartbeats of consumers that pull say what they are set to",
        f"{_KINDS} -k heartbeats",
    ),
    Mutant(
        "rmqalloc/rebalance/_pull_consumer.py",
        "        self.rebalance.subscription_inner.pop(topic, None)\n",
        "",
        "a topic that a pull consumer unsubscribed stays allocated",
        f"{_KINDS} -k unsubscribes",
    ),
    Mutant(
        "rmqalloc/rebalance/_lite_pull_consumer.py",
        "        if where not in WISHES:\n",
        "        if where is None:\n",
        "a lite pull consumer takes deprecated first offsets",
        "tests/rebalance/test_rebalance_first_offset.py -k deprecated",
    ),
    Mutant(
        "rmqalloc/rebalance/_lite_pull_consumer.py",
        "        self._check_topic(topic)\n",
        "",
        "a subscription without a topic keeps queues from being chosen",
        f"{_KINDS} -k no_topic",
    ),
    Mutant(
        "rmqalloc/rebalance/_push_consumer.py",
        "if not is_unset and not 1 <= limit <= most:",
        "if not 0 <= limit + is_unset <= most:",
        "a push consumer takes a limit of zero",
        f"{_KINDS} -k limits",
    ),
    Mutant(
        _BROKER,
        "for unlock in () if only_this_broker else self._unlock_elsewhere:",
        "for tell in ():",
        "in strict mode replicas keep locks that were given up",
        "tests/broker/test_broker_locks.py -k strict",
    ),
    Mutant(
        "rmqalloc/rebalance/_consumer.py",
        "if len(group) > longest:",
        "if len(group) > 255:",
        "5.5 takes names of 255 characters",
        f"{_KINDS} -k refused",
    ),
    Mutant(
        "rmqalloc/rebalance/_consumer.py",
        "_GROUP.fullmatch(group)",
        "_GROUP.match(group)",
        "the first character decides about a name",
        f"{_KINDS} -k refused",
    ),
    Mutant(
        "rmqalloc/rebalance/_consumer.py",
        "if self.client_factory.profile.failed_start_shuts_down:",
        "if self.client_factory:",
        "a consumer of 4.9 that fails late is shut down",
        f"{_KINDS} -k began_to_run",
    ),
    Mutant(
        "rmqalloc/rebalance/_push_consumer.py",
        " or not self.manager.profile.asks_for_a_pass_if_heard",
        "",
        "the start of a push consumer of 4.9 needs a broker to ask for a pass",
        f"{_KINDS} -k asks_for_a_pass",
    ),
]
