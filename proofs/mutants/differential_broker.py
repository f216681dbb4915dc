"""Mutants of the broker half that the differential is to see by itself."""

from mutants.mutant import Mutant

_BROKER = "rmqalloc/broker"
_TESTS = "tests/rebalance/test_differential.py -k broker"

MUTANTS = [
    Mutant(
        f"{_BROKER}/_consumer_manager.py",
        "if now - client.last_update > ",
        "if now - client.last_update >= ",
        "a channel expires a millisecond early",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_lock_manager.py",
        "return now - lock.last_update > self.lock_max_live_time",
        "return now - lock.last_update >= self.lock_max_live_time",
        "a lock can be taken over a millisecond early",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_change_listener.py",
        "            if self.notify_consumer_ids_changed_enable:\n                for channel in channels:",
        "            if True:\n                for channel in channels:",
        "a flush does not look at the broker's flag",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_change_listener.py",
        "            if self._interruptible and self._being_told.get(consumer_group) is not this_round:",
        "            if False:",
        "a newer list does not end the telling of an older one",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_change_listener.py",
        "        collected, self._collected = self._collected, {}",
        "        collected = self._collected",
        "what was flushed is flushed again",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_group_info.py",
        "            if known is None or subscription.sub_version > known.sub_version:",
        "            if known is None or subscription.sub_version >= known.sub_version:",
        "a subscription of the same version replaces the known one",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_group_info.py",
        "        known.last_update = client.last_update\n",
        "        self.channels[channel].last_update = client.last_update\n",
        "the client that a channel was known as is not kept alive",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_consumer_manager.py",
        "            client = self.client(client_id)\n",
        "            client = ClientChannelInfo('', 0)\n",
        "listeners do not hear who leaves",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_broker.py",
        "            self._fingerprints[data.consumer_group] = heartbeat.fingerprint\n",
        "            self._fingerprints.setdefault(data.consumer_group, heartbeat.fingerprint)\n",
        "a group's first fingerprint is kept for ever",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_query_assignment.py",
        "        if not self._views.get(topic):",
        "        if topic not in self._views:",
        "a topic without queues is not asked for again",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_query_assignment.py",
        "FIRST_ROUTES = 1_000",
        "FIRST_ROUTES = 30_000",
        "routes are first asked for again after 30 s",
        _TESTS,
    ),
    Mutant(
        f"{_BROKER}/_query_assignment.py",
        "        default = RequestMode() if topic.startswith(RETRY_PREFIX) else self._default",
        "        default = self._default",
        "retry topics can be popped",
        _TESTS,
    ),
]
