"""Every verb beside a brute force that shares nothing with the product: a few snapshots each;
`bruteforce` runs many.
"""

import pytest
from bruteforce import mixed, openings, runs, totals
from bruteforce.verbs import VERBS

N_SNAPSHOTS, SEED = 25, 20261122
SLOW = {
    "silence": 8, "compare": 15, "budget": 10, "compare of mixed groups": 8, "plan beside its outcome": 10,
    "plan of mixed groups": 15, "plan of repeated ids": 10,
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_answer_differs(verb):
    n_snapshots = SLOW.get(verb, N_SNAPSHOTS)
    done = runs.run(verb, SEED, range(n_snapshots))
    assert done.compared > 5 * n_snapshots
    assert not done.differing, (
        done.differing[0][0],
        [str(one) for one in done.differing[0][2][:5]],
    )


def document(clients, *topics, **group):
    routes = [
        {"name": name, "brokers": [{"broker_name": "a", "read_queue_nums": n}]}
        for name, n in topics
    ]
    names = [name for name, _ in topics]
    one = {"name": "g", "subscriptions": names, "strategy": "AVG", "clients": clients, **group}
    return {"apiVersion": "rmqalloc/v2", "kind": "Snapshot", "topics": routes, "groups": [one]}


def opening_of(cluster, change):
    """The brute force's own figures of one change: worst and after, of unowned and of double-owned
    queues.
    """
    scenario = {"name": "x", "changes": [change]}
    before = mixed.current(list(mixed.units_of(cluster)), cluster)
    pairs = totals.by_group(before, mixed.behind(before, scenario))["g"]
    found = openings.opening(pairs, cluster)
    return [openings.tried(found).worst(which) for which in (0, 1)], openings.after(found)


def test_the_brute_force_takes_processes_of_one_id_for_clients_of_their_own():
    twice = document([{"client_id": one} for one in ("c1", "c1", "c2")], ("T", 6))
    assert opening_of(twice, {"add_clients": {"ids": ["c3"]}}) == ([3, 3], (2, 2))
    # The last of them leaves, and reads nothing from the start.
    assert opening_of(twice, {"remove_clients": {"count": 1, "which": "first"}}) == ([2, 0], (0, 0))


def test_the_brute_force_counts_queues_that_are_new_and_written_from_the_start():
    two = document([{"client_id": one} for one in ("c1", "c2")], ("T", 2))
    assert opening_of(two, {"set_queues": {"read_queue_nums": 6}})[0] == [4, 1]
    assert opening_of(two, {"add_broker": {"broker_name": "b", "read_queue_nums": 2}})[0] == [2, 1]


def test_the_brute_force_gives_a_queue_that_nobody_reads_to_no_load():
    clients = [
        {"client_id": "c1", "strategy": "AVG", "subscriptions": ["T"]},
        {"client_id": "c2", "strategy": "AVG"},
    ]
    mixed_up = document(clients, ("T", 4), ("V", 1))
    before = mixed.current(list(mixed.units_of(mixed_up)), mixed_up)
    [(_, row)] = totals.groups(before, before, mixed_up)
    assert (row["unowned"], row["max_load"], row["skew"]) == (1, 2, 0.8)
