"""What is said of RocketMQ's rebalance, as output of simulations: how long, how many, how often
twice.
"""

import pytest

from rmqalloc import strategy
from rmqalloc.remoting import PROFILES
from rmqalloc.simulation import Cluster, Flow, Script, simulate

MOMENTS = range(60_000, 82_000, 2_300)  # ms; spread over more than one interval of passes
QUIET = {"at": "50s", "notices": {"enabled": False}}


def run(
    *events,
    clients=4,
    read_queue_nums=12,
    brokers=("broker-a", "broker-b"),
    duration="240s",
    profile="5.5",
    settings=(),
    **group,
):
    """One group over one topic; its clients do not start all at once, so that they do not pass all
    at once.
    """
    made = {"name": "g", "topics": "orders", "clients": clients, "start_every": "4700ms", **group}
    data = {
        "duration": duration,
        "brokers": list(brokers),
        "topics": [{"name": "orders", "read_queue_nums": read_queue_nums}],
        "groups": [made],
        "events": list(events),
        "broker_settings": list(settings),
    }
    return simulate(Script.of(data), profile=profile)


def at_all_moments(kind, detail, *before, **more):
    """The row of an event, for an event at each of many moments."""
    return [
        run(*before, {"at": f"{moment}ms", kind: detail}, **more).events[-1] for moment in MOMENTS
    ]


def settled(rows):
    """Shortest and longest time to settle, once it is sure that they did."""
    assert all(row.unowned == row.double_owned == 0 for row in rows)
    return min(row.settled_after for row in rows), max(row.settled_after for row in rows)


LEAVING, JOINING = {"clients": "g-1"}, {"group": "g", "clients": "g-9"}


# --- How long ---


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("kind", "detail"), [("shutdown", LEAVING), ("crash", LEAVING), ("join", JOINING)]
)
@pytest.mark.parametrize(("profile", "longest"), [("5.5", 1_100), ("4.9", 50)])
def test_a_change_that_brokers_tell_of_settles_within_about_a_second(
    kind, detail, profile, longest
):
    """5.5 waits until a second after its last pass; 4.9 does not."""
    assert settled(at_all_moments(kind, detail, profile=profile))[1] <= longest


@pytest.mark.parametrize(
    ("kind", "detail"), [("shutdown", LEAVING), ("crash", LEAVING), ("join", JOINING)]
)
@pytest.mark.parametrize("profile", ["5.5", "4.9"])
def test_without_notices_a_change_settles_with_the_timer_of_20_s(kind, detail, profile):
    shortest, longest = settled(at_all_moments(kind, detail, QUIET, profile=profile))
    assert shortest < 5_000
    assert 15_000 < longest <= 20_100


def silent_deaths(profile, settings=()):
    """A death without a trace at each of many moments."""
    return [
        run(
            {"at": f"{moment}ms", "vanish": LEAVING},
            clients=3,
            start_every=f"{every}ms",
            profile=profile,
            settings=settings,
        ).events[-1]
        for every in (1_430, 4_090, 9_410, 14_730)
        for moment in (60_000, 66_200, 72_400, 78_600, 84_800)
    ]


@pytest.mark.parametrize("profile", ["5.5", "4.9"])
def test_a_silent_death_takes_one_and_a_half_minutes_to_two_and_a_third(profile):
    """120 s without a heartbeat, up to 30 s after the last one; a scan every 10 s, of which nobody
    is told; a pass every 20 s.

    Where the scan comes later than 120 s after the death, the idle connection is closed before, and
    the others are told of it.
    """
    rows = silent_deaths(profile)
    shortest, longest = settled(rows)
    assert 90_000 <= shortest < 105_000
    assert 135_000 < longest <= 140_100
    assert all(row.longest_gap == row.settled_after for row in rows)
    told = [row.settled_after for row in rows if row.notices]
    assert len(told) == 5
    assert all(120_000 < one <= 121_100 for one in told)


@pytest.mark.parametrize("profile", ["5.5", "4.9"])
def test_a_silent_death_takes_up_to_two_and_a_half_minutes_if_no_connection_is_idle(profile):
    rows = silent_deaths(profile, [{"server_channel_max_idle_time_seconds": 0}])
    shortest, longest = settled(rows)
    assert 90_000 <= shortest < 105_000
    assert 145_000 < longest <= 150_100
    assert all(row.longest_gap == row.settled_after for row in rows)
    assert all(row.notices == 0 for row in rows)


def test_the_locks_of_a_dead_client_hold_its_ordered_queues_for_up_to_a_minute():
    concurrent = at_all_moments("crash", LEAVING)
    ordered = at_all_moments("crash", LEAVING, ordered=True)
    assert settled(concurrent)[1] < 1_000
    assert settled(ordered)[0] > 38_000, "renewed 20 s ago at most, and good for 60 s"
    assert 55_000 < settled(ordered)[1] <= 61_000


def test_a_client_that_stands_still_keeps_its_queues():
    row = run({"at": "70s", "freeze": {"clients": "g-1", "lasts": "60s"}}).events[-1]
    assert (row.process_queues, row.longest_gap, row.gap) == (0, 60_000, 6 * 60_000)


def test_a_client_that_stands_still_for_too_long_comes_back_to_other_owners():
    events = [{"at": "70s", "freeze": {"clients": "g-1", "lasts": "200s"}}]
    result = run(*events, duration="330s")
    row = result.events[-1]
    assert 90_000 < row.longest_gap < 150_100
    assert (row.unowned, row.double_owned) == (0, 0)
    (ownership,) = result.ownerships
    thawed = ownership.double_owned.within(270_000, 330_000)
    assert thawed.longest() <= 1_100, "its old queues are its own until its first pass"


def test_brokers_find_an_idle_connection_at_different_times_and_clients_divide_by_either():
    """g-1 reads from broker-a alone: its connection to broker-b is idle since its last request
    there, up to 30 s earlier.
    """
    result = run({"at": "70s", "freeze": {"clients": "g-1", "lasts": "200s"}}, duration="330s")
    (ownership,) = result.ownerships
    double = ownership.double_owned.within(70_000, 270_000)
    assert {ownership.queues[queue].broker_name for queue in double.queue.tolist()} == {"broker-b"}
    assert 4_000 < double.longest() < 5_000
    assert double.end.tolist() == [190_003, 190_003], (
        "broker-a closes its own 120 s after the freeze"
    )


# --- How many ---


@pytest.mark.parametrize(("left", "n_made"), [(0, 12), (1, 8), (2, 8), (3, 12)])
def test_one_of_four_clients_with_24_queues_leaves_and_avg_makes_8_process_queues_or_12(
    left, n_made
):
    """Its own 6 had to be made anew; the others are those that slide along."""
    row = run({"at": "60s", "shutdown": {"clients": f"g-{left}"}}).events[-1]
    assert (row.process_queues, row.moved) == (n_made, n_made)


@pytest.mark.parametrize("left", range(4))
def test_with_consistent_hash_only_the_queues_of_the_leaver_are_made_anew(left):
    result = run({"at": "60s", "shutdown": {"clients": f"g-{left}"}}, strategy="CONSISTENT_HASH")
    (ownership,) = result.ownerships
    held = ownership.processes == left
    n_held = int((held & (ownership.intervals.end == 60_000)).sum())
    assert n_held > 0
    assert (result.events[-1].process_queues, result.events[-1].moved) == (n_held, n_held)


def test_restarting_12_clients_one_by_one_moves_a_queue_ten_times_with_avg_and_twice_with_consistent_hash():
    restart = {"at": "30s", "restart": {"group": "g", "every": "10s", "down": "5s"}}
    more = {"clients": 12, "duration": "160s", "start_every": "0s"}
    moves = {
        name: run(restart, strategy=name, **more).events[-1].moved / 24
        for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
    }
    assert moves == {"AVG": 250 / 24, "AVG_BY_CIRCLE": 444 / 24, "CONSISTENT_HASH": 51 / 24}


def test_batches_make_a_restart_cheaper():
    def moved(batch):
        restart = {
            "at": "30s",
            "restart": {"group": "g", "batch": batch, "every": "10s", "down": "5s"},
        }
        return run(restart, clients=12, duration="160s", start_every="0s").events[-1].moved

    assert moved(1) > 1.5 * moved(3) > 2 * moved(6)


def test_a_large_group_is_restarted_and_settles():
    """Every notice reaches every client: 100 shutdowns and 100 starts, at two brokers, among 100
    clients.
    """
    restart = {
        "at": "30s",
        "restart": {"group": "g", "batch": 20, "every": "10s", "down": "5s"},
    }
    result = run(restart, clients=100, read_queue_nums=500, duration="120s", start_every="0s")
    row = result.events[-1]
    assert (row.unowned, row.double_owned, row.settled_after < 1_100) == (0, 0, True)
    assert 2 * (100 * 80 + 100 * 80) <= row.notices <= 2 * (100 * 100 + 100 * 100)
    assert row.moved == row.process_queues > 5 * 1_000
    assert result.requests["query_offset"] >= row.process_queues


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
def test_a_repeated_client_id_leaves_queues_to_nobody_and_others_to_two(name):
    """Ten processes with nine ids and 40 queues: 4 queues pile up, and 4 are consumed twice, for
    ever.
    """
    twin = {"at": "60s", "join": {"group": "g", "clients": "twin", "client_id": "g-3@1"}}
    result = run(twin, clients=9, read_queue_nums=20, strategy=name, duration="120s")
    row, group = result.events[-1], result.groups[0]
    assert (row.unowned, row.double_owned) == (4, 4)
    assert 58_000 < row.longest_gap <= 60_000
    assert group.left == pytest.approx(4 * 60 * 10, abs=4)
    assert group.consumed_twice > 4 * 58 * 10


def test_a_repeated_client_id_doubles_its_weight_with_consistent_hash():
    twin = {"at": "60s", "join": {"group": "g", "clients": "twin", "client_id": "g-3@1"}}
    row = run(
        twin, clients=9, read_queue_nums=20, strategy="CONSISTENT_HASH", duration="120s"
    ).events[-1]
    assert row.unowned == 0
    assert row.double_owned >= 8


def test_mixed_strategies_leave_queues_to_nobody_and_others_to_two_for_ever():
    other = {"at": "60s", "join": {**JOINING, "strategy": "AVG_BY_CIRCLE"}}
    row = run(other).events[-1]
    want = mixed([f"g-{i}@1" for i in range(4)], "g-9@1")
    assert (row.unowned, row.double_owned) == want
    assert min(want) > 0


def mixed(avg_ids, circle_id):
    """Queues of nobody and of two, where all but one of the clients divide by AVG."""
    queues, ids = (
        [("orders", b, i) for b in ("broker-a", "broker-b") for i in range(12)],
        sorted([*avg_ids, circle_id]),
    )
    avg, circle = (strategy(name).assign(queues, ids).owners for name in ("AVG", "AVG_BY_CIRCLE"))
    taken = [
        (ids[a] != circle_id) + (ids[c] == circle_id) for a, c in zip(avg, circle, strict=True)
    ]
    return taken.count(0), taken.count(2)


def test_a_client_that_does_not_subscribe_to_a_topic_is_given_queues_of_it_all_the_same():
    """And each heartbeat undoes the other's topics, which is told to all, every time."""
    data = {
        "duration": "240s",
        "brokers": ["broker-a"],
        "topics": [{"name": name, "read_queue_nums": 8} for name in ("orders", "bills")],
        "groups": [{"name": "g", "topics": ["orders", "bills"], "clients": 3}],
        "events": [{"at": "60s", "join": {"group": "g", "clients": "odd", "topics": "orders"}}],
    }
    before, after = simulate(Script.of(data)).events
    assert (before.unowned, after.unowned) == (0, 2)
    assert after.notices > 5 * before.notices


# --- Gaps, doubles, order ---


def test_a_gap_where_the_drop_comes_first_and_two_owners_where_the_start_does():
    told, untold = (
        run({"at": "61s", "join": JOINING}).events[-1],
        run(QUIET, {"at": "61s", "join": JOINING}).events[-1],
    )
    assert (told.longest_gap, told.longest_double) == (1_000, 0), (
        "the others are told at once, the new one waits a second"
    )
    assert untold.longest_gap < 10
    assert 10_000 < untold.longest_double < 20_000, (
        "the new one starts after a second, the others let go with their timers"
    )
    assert run(QUIET, {"at": "61s", "join": JOINING}).groups[0].consumed_twice > 500


@pytest.mark.parametrize("listener_time", ["0s", "300ms", "3s"])
@pytest.mark.parametrize("before", [[], [QUIET]], ids=["told", "untold"])
def test_ordered_groups_have_gaps_only(before, listener_time):
    for kind, detail in (("join", JOINING), ("shutdown", LEAVING), ("crash", LEAVING)):
        result = run(
            *before, {"at": "61s", kind: detail}, ordered=True, listener_time=listener_time
        )
        assert result.groups[0].n_double == 0
        assert result.events[-1].longest_gap > 0
        assert result.events[-1].unowned == 0


def test_a_slow_listener_holds_an_ordered_queue_longer():
    quick, slow = (
        run({"at": "61s", "join": JOINING}, ordered=True, listener_time=time)
        for time in ("100ms", "8s")
    )
    assert quick.events[-1].longest_gap < 2_000
    assert slow.events[-1].longest_gap > 3_000


def test_a_broker_that_restarts_forgets_locks_and_two_clients_own_an_ordered_queue():
    """Its locks were in memory only; the old owner believes in its own for 30 s."""
    cluster = Cluster(PROFILES["5.5"])
    cluster.start_broker("broker-a")
    cluster.set_topic("orders", "broker-a", 4)
    group = cluster.add_group("g", {"orders": Flow(10, 100)}, strategy("AVG"), is_ordered=True)
    for name in ("x", "y"):
        cluster.join(group, name)
    cluster.run(30_000)
    owned = cluster.owners(group)
    cluster.stop_broker("broker-a", crash=True)
    cluster.members["x"].freeze()
    cluster.start_broker("broker-a")
    cluster.run(52_000)
    cluster.members["x"].thaw()
    cluster.run(53_000)
    taken = {
        queue: owners for queue, owners in cluster.owners(group).items() if owners != owned[queue]
    }
    assert set(map(tuple, owned.values())) == {("x@1",), ("y@1",)}
    assert taken, (
        "y, alone in the new broker's list, was given locks that x still holds in its own eyes"
    )


@pytest.mark.parametrize(("profile", "doubles"), [("5.5", set()), ("4.9", {2, 3})])
def test_4_9_unlocks_late_even_a_queue_that_came_back_meanwhile(profile, doubles):
    """Two queues leave x and are back 3 s later; the unlock of 20 s after they left opens them to y
    while x works on them.
    """
    cluster = Cluster(PROFILES[profile])
    cluster.start_broker("broker-a")
    cluster.set_topic("orders", "broker-a", 4)
    group = cluster.add_group("g", {"orders": Flow(10, 100)}, strategy("AVG"), is_ordered=True)
    cluster.join(group, "x")
    cluster.run(40_000)
    cluster.join(group, "y")
    cluster.run(43_000)
    cluster.members["y"].shutdown()
    cluster.run(50_000)
    assert set(map(tuple, cluster.owners(group).values())) == {("x@1",)}
    cluster.set_notices(False)
    cluster.run(60_500)
    cluster.join(group, "y")
    cluster.run(120_000)
    double = group.timeline.double_owned(120_000)
    assert set(double.queue.tolist()) == doubles
    assert double.longest() <= 1_000, "the next renewal of x is refused"
    assert all(len(owners) == 1 for owners in cluster.owners(group).values())


# --- Routes, partitions, pauses ---


def test_more_queues_are_found_with_the_next_poll_of_routes():
    rows = at_all_moments("change_topic", {"topic": "orders", "read_queue_nums": 16})
    _, longest = settled(rows)
    assert longest <= 30_000 + 20_000 + 1_100
    assert max(row.longest_gap for row in rows) > 30_000
    assert all(row.process_queues > 8 for row in rows)


def test_a_broker_that_restarts_is_missed_until_it_is_back_in_the_routes():
    restart = {"brokers": "broker-a", "lasts": "20s"}
    row, crash = (
        run({"at": "70s", "restart_broker": {**restart, "crash": crash}}).events[-1]
        for crash in (False, True)
    )
    assert (row.unowned, row.double_owned, crash.unowned, crash.double_owned) == (0, 0, 0, 0)
    assert row.process_queues > row.moved, (
        "clients whose poll finds no route drop its queues and take them again"
    )
    assert 20_000 < row.longest_gap < 30_000
    assert crash.process_queues == crash.moved, (
        "a broker that crashed stays in the routes for two minutes"
    )
    assert crash.longest_gap < 10


def test_a_client_cut_off_from_one_broker_keeps_or_loses_queues_by_whom_it_asks():
    cut = {"clients": "g-1", "brokers": "broker-a", "lasts": "170s"}
    row = run({"at": "60s", "partition": cut}, duration="330s").events[-1]
    assert (row.unowned, row.double_owned) == (0, 0)
    assert row.process_queues > 0, (
        "the broker it cannot reach dropped it, and the clients that ask there divide without it"
    )


def test_a_lost_connection_is_made_anew_and_costs_two_changes():
    row = run({"at": "61s", "disconnect": LEAVING}).events[-1]
    assert (row.unowned, row.double_owned) == (0, 0)
    assert row.moved >= 8
    assert row.settled_after < 12_000


def test_a_paused_client_keeps_its_queues_and_passes_every_second():
    """It begins to with its first pass after the pause, up to 20 s later."""
    paused = run({"at": "61s", "pause": {"clients": "g-1", "lasts": "60s"}}).events[-1]
    assert (paused.process_queues, paused.gap) == (0, 6 * 60_000)
    usual = run({"at": "61s", "notices": {"enabled": True}}).events[-1]
    assert 38 <= paused.passes - usual.passes <= 60
