"""The state of live plans without Spark: any order, repetition and batches of events give the
answer of one batch.
"""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import strategy
from rmqalloc.evaluation import PlanSpec
from rmqalloc.model import MAX_CHANNELS, MAX_CLIENTS, MAX_READ_QUEUE_NUMS
from spark_udfs._event_bounds import REFUSED, Window, checked
from spark_udfs._live_groups import LivePlansError, LiveRules, advance
from spark_udfs._live_rows import LiveRows

FOREVER = LiveRules("AVG", client_ttl=None, group_ttl=1000)
LATENESS = 20


def join(client, time, group="g", **more):
    return {"kind": "join", "consumer_group": group, "client_id": client, "time": time, **more}


def leave(client, time, group="g", **more):
    return join(client, time, group, **more) | {"kind": "leave"}


def route(time, **brokers):
    listed = [{"broker_name": name, "read_queue_nums": n} for name, n in brokers.items()]
    return {"kind": "route", "time": time, "brokers": listed}


NOW = 10**6
ALL = Window(lateness=LATENESS, max_age=NOW, max_ahead=NOW)


def step(state, events, watermark=0, rules=FOREVER, topic="T"):
    texts = [(topic, checked(topic, json.dumps(event), NOW, ALL)[1]) for event in events]
    return advance(state, texts, watermark, rules)


def registers(state):
    """Clients of every group of the one topic, without versions and empty groups."""
    if state is None:
        return {}
    _, groups = json.loads(state.split("\n")[1].split("\t")[2])
    return {name: clients for name, (_, clients) in groups.items() if clients}


def last(rows):
    """The last row of every group: its lists, none for a group without clients."""
    seen = {row["consumer_group"]: row["after"] for row in rows}
    return {group: view for group, view in seen.items() if view["client_ids"]}


# --- One event after the other ---


def test_a_change_of_the_route_reaches_every_group_that_has_clients():
    done = step(None, [join("c", 1), join("d", 1, "h"), leave("x", 1, "empty"), route(2, a=4)])
    assert [(row["consumer_group"], row["after"]["brokers"]) for row in done.rows] == [
        ("g", [["a", 4]]),
        ("h", [["a", 4]]),
    ]
    more = step(done.state, [route(3, a=4, b=2)])
    assert [row["consumer_group"] for row in more.rows] == ["g", "h"]
    assert more.rows[0]["before"] == done.rows[0]["after"]
    assert more.rows[0]["version"] == 3


def test_the_first_time_of_all_is_a_time_and_one_before_it_is_none():
    assert list(registers(step(None, [join("c", 0)]).state)["g"]) == ["c"]
    assert registers(step(None, [join("c", -1)]).state) == {}


def test_a_client_has_from_one_channel_to_the_most():
    for channels, is_taken in (
        (0, False),
        (1, True),
        (MAX_CHANNELS, True),
        (MAX_CHANNELS + 1, False),
    ):
        assert bool(registers(step(None, [join("c", 1, channels=channels)]).state)) == is_taken


def test_an_older_event_that_comes_later_changes_nothing():
    state = step(None, [join("c", 1), leave("c", 5)]).state
    done = step(state, [join("c", 4)])
    assert done.rows == []
    assert step(done.state, [join("c", 6)]).rows[0]["after"]["client_ids"] == ["c"]


def test_a_heartbeat_that_nothing_depends_on_makes_no_row_but_counts():
    state = step(None, [join("c", 1)]).state
    beat = step(state, [join("c", 9) | {"kind": "heartbeat"}])
    assert beat.rows == []
    assert step(beat.state, [leave("c", 5)]).rows == [], "the client was heard of after that"


@pytest.mark.parametrize("events", [[join("c", 5), leave("c", 5)], [leave("c", 5), join("c", 5)]])
def test_of_equal_stamps_the_leave_wins_and_a_sequence_decides_before(events):
    assert last(step(None, events).rows) == {}
    assert list(last(step(None, [*events, join("c", 5, sequence=1)]).rows)) == ["g"]


def test_rows_of_a_group_follow_each_other_also_while_it_has_no_clients():
    never = step(step(None, [leave("c", 1), route(1, a=1)]).state, [join("c", 2)])
    assert never.rows[0]["before"] == {"brokers": [], "client_ids": []}, "there was no row before"
    gone = step(never.state, [leave("c", 3)])
    other = step(gone.state, [route(4, b=1)])
    assert other.rows[0]["before"] == gone.rows[0]["after"]
    assert step(other.state, [join("c", 5)]).rows[0]["before"] == other.rows[0]["after"]


def test_versions_rise_also_where_an_older_event_changes_the_answer():
    first = step(None, [join("c", 50)])
    second = step(first.state, [join("d", 20)])
    assert [one.rows[0]["version"] for one in (first, second)] == [50, 51]


def test_ids_of_several_channels_stand_as_often_and_lists_are_in_the_order_of_java():
    done = step(None, [join("\U0001f600", 1), join("\uffff", 1), join("a", 1, channels=2)])
    assert done.rows[0]["after"]["client_ids"] == ["a", "a", "\U0001f600", "\uffff"]


# --- The life of state ---


def test_a_client_that_is_not_heard_of_ends_with_its_time():
    rules = FOREVER._replace(client_ttl=10)
    done = step(None, [join("c", 5), join("d", 9), route(1, a=2)], rules=rules)
    assert done.deadline == 15
    assert step(done.state, [], 14, rules).rows == []
    ended = step(done.state, [], 15, rules)
    assert ended.rows[0]["after"]["client_ids"] == ["d"]
    assert ended.rows[0]["event_time"] == 15
    assert ended.deadline == 19


def test_what_no_event_can_change_any_more_is_forgotten_and_versions_do_not_repeat():
    state = step(None, [join("c", 5)]).state
    gone = step(state, [leave("c", 8)])
    assert gone.rows[0]["after"]["client_ids"] == []
    tombstone_gone = step(gone.state, [], 8)
    assert (tombstone_gone.deadline, registers(tombstone_gone.state)) == (1008, {})
    assert step(tombstone_gone.state, [], 1008).state is None
    assert step(None, [join("c", 1009)], 1008).rows[0]["version"] > gone.rows[0]["version"]


def test_a_route_stays_for_groups_to_come_and_an_empty_one_goes():
    state = step(None, [route(1, a=4)]).state
    assert step(state, [], 10**6).state == state
    assert step(state, [route(2)]).deadline == 2
    assert step(step(state, [route(2)]).state, [], 2).state is None


def test_state_of_other_parameters_or_another_form_is_refused():
    state = step(None, [join("c", 1)]).state
    with pytest.raises(
        LivePlansError, match=r"belongs to live_plans\(AVG\), but this query is live_plans\(RING\)"
    ):
        step(state, [], rules=FOREVER._replace(described="RING"))
    with pytest.raises(LivePlansError, match="form 9, this release of rmqalloc reads form 1"):
        step(state.replace("1\t", "9\t", 1), [])
    named = step(None, [join("c", 1)], rules=FOREVER._replace(described="é")).state
    assert named.startswith('1\t"é"\n'), "as in checkpoints that are there"


def test_topics_of_a_bucket_do_not_touch_each_other():
    names = ["T", "U\t\n", '"V"']
    events = [
        (name, json.dumps(event))
        for name in names
        for event in (join("c", 1), route(2, a=4), leave("c", 9))
    ]
    rules = FOREVER._replace(group_ttl=5)
    together, alone = None, dict.fromkeys(names)
    for watermark, batch in ((0, events[:5]), (0, events[5:]), (9, []), (14, [])):
        done = advance(together, batch, watermark, rules)
        parts = [
            advance(alone[name], [one for one in batch if one[0] == name], watermark, rules)
            for name in names
        ]
        assert sorted(map(str, done.rows)) == sorted(
            str(row) for part in parts for row in part.rows
        )
        assert done.deadline == min(
            (part.deadline for part in parts if part.deadline), default=None
        )
        together, alone = (
            done.state,
            {name: part.state for name, part in zip(names, parts, strict=True)},
        )
    assert registers(together) == {}


# --- Events that are refused ---


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            join("c", 1) | {"kind": "jion"},
            "kind must be one of join, heartbeat, leave, route, got 'jion'",
        ),
        (join("c", None), "event_time must be a time after 1970"),
        (join("c", -1), "event_time must be a time after 1970"),
        (join("", 1), "an event of kind join needs a client_id, got ''"),
        (join("c", 1, group=None), "an event of kind join needs a consumer_group, got nothing"),
        (join("c", 1, channels=0), "channels must be an integer from 1 to 1024, got 0"),
        ({"kind": "route", "time": 1}, "an event of kind route needs brokers"),
        (
            join("c", 1, channels=2_000_000_000),
            "channels must be an integer from 1 to 1024, got 2000000000",
        ),
        (join("c", 1, channels=True), "channels must be an integer from 1 to 1024, got True"),
        (join("c" * 65_537, 1), "client_id must be at most 65536 bytes long, got 65537"),
        (
            join("c", 1, group="\u00e4" * 32_769),
            "consumer_group must be at most 65536 bytes long, got 65538",
        ),
        (join("c", 1, sequence="1"), "sequence must be an integer, got '1'"),
        (
            join("c", 1) | {"time": 2 * NOW + 1},
            "event_time must be from 1970-01-01T00:00:00Z (max_age) to",
        ),
        (
            join("c", 1) | {"time": 1 << 80},
            "event_time must be from 1970-01-01T00:00:00Z (max_age) to",
        ),
        (route(1, a=-1), "read_queue_nums of 'a' must be an integer from 0 to 65536, got -1"),
        (
            route(1, a=MAX_READ_QUEUE_NUMS + 1),
            "read_queue_nums of 'a' must be an integer from 0 to 65536, got 65537",
        ),
        (
            route(1, a=1 << 20),
            "read_queue_nums of 'a' must be an integer from 0 to 65536, got 1048576",
        ),
        pytest.param(
            route(1, a=MAX_READ_QUEUE_NUMS, b=1),
            "the brokers of a route have at most 65536 read queues together, got 65537",
            id="too many queues together",
        ),
        (route(1, **{"b" * 65_537: 1}), "broker_name must be at most 65536 bytes long, got 65537"),
        (
            {"kind": "route", "time": 1, "brokers": [None]},
            "every broker of a route needs a broker_name, got nothing",
        ),
        pytest.param(
            route(1, a=1) | {"brokers": route(1, a=1)["brokers"] * 2},
            "MessageQueue [topic=T, brokerName=a, queueId=0] is there twice; give every queue once",
            id="a broker twice",
        ),
        ({"raw": "{"}, "the event is no JSON object"),
    ],
)
def test_an_event_that_is_wrong_is_a_row_and_the_others_count(event, reason):
    state = step(None, [join("before", 1)]).state
    done = step(state, [join("after", 2), event])
    assert [row.get("consumer_group") for row in done.rows] == ["g", None]
    assert done.rows[1]["err_msg"].startswith(reason)
    assert done.rows[1]["event"] == event.get("raw", json.dumps(event))
    assert done.rows[0]["after"]["client_ids"] == ["after", "before"]


def test_events_without_a_topic_keep_no_state():
    done = step(None, [join("c", 1)], topic="")
    assert done.state is None
    assert "names no topic" in done.rows[0]["err_msg"]


# --- What is refused changes nothing, and is nothing to expand ---

SECOND = 10**6
AT = 1_800_000_000 * SECOND
LIVE = Window(lateness=600 * SECOND, max_age=7 * 86_400 * SECOND, max_ahead=3600 * SECOND)


def test_times_are_taken_within_the_window_and_move_the_clock_to_now_at_most():
    for time, moves in (
        (AT - LIVE.max_age, AT - LIVE.max_age),
        (AT - LIVE.max_age - 1, None),
        (AT, AT),
        (AT + LIVE.max_ahead, AT),
        (AT + LIVE.max_ahead + 1, None),
        (AT * 1000, None),
        (2**63 - 1, None),
        (-1, None),
    ):
        event = json.dumps(join("c", time))
        moved, text = checked("T", event, AT, LIVE)
        assert moved == moves
        assert (text == event) == (moves is not None)
        assert bool(advance(None, [("T", text)], 0, FOREVER).state) == (moves is not None)


def test_milliseconds_where_seconds_are_read_are_named():
    said = json.loads(checked("T", json.dumps(join("c", AT * 1000)), AT, LIVE)[1])[REFUSED]
    assert said.endswith("read as seconds after 1970, and seems to be milliseconds")
    assert (
        "2027-01-08T08:00:00Z (max_age) to 2027-01-15T09:00:00Z (max_ahead), got one 1800000000000 s"
        in said
    )


def test_an_event_too_long_to_be_copied_for_all_of_its_topics_is_refused():
    text = json.dumps(join("c" * 1000, AT))
    assert checked("", text, AT, LIVE, 1 << 14)[0] is None
    assert checked("T", text, AT, LIVE, 1 << 13)[0] == AT


def test_state_is_that_of_the_good_events_alone():
    good = [join("c", AT), route(AT, a=MAX_READ_QUEUE_NUMS), leave("d", AT + 1)]
    hostile = [
        route(AT + 2, **dict.fromkeys("abcd", 1 << 20)), join("c", AT * 1000), join("x", AT + 2, channels=2 * 10**9),
        join("x", -5), {"raw": "no JSON"}, join("x", AT) | {"kind": ["join"]}, join("x", AT) | {"time": "now"},
        route(AT) | {"brokers": {"a": 1}}, {},
    ]  # fmt: skip
    texts = [
        ("T", checked("T", json.dumps(event), AT, LIVE)[1]) for event in [*hostile, *good, *hostile]
    ]
    done = advance(None, texts, 0, FOREVER)
    alone = advance(None, [("T", json.dumps(event)) for event in good], 0, FOREVER)
    assert done.state == alone.state
    assert [row for row in done.rows if "version" in row] == alone.rows
    assert len(done.rows) - len(alone.rows) == 2 * len(hostile)


def test_a_group_of_too_many_clients_is_a_row_that_says_so_and_goes_on_when_they_are_fewer():
    n, rest = divmod(MAX_CLIENTS, MAX_CHANNELS)
    most = [join(f"c{i}", 1, channels=MAX_CHANNELS) for i in range(n)] + [
        join(f"c{n}", 1, channels=rest)
    ]
    [row] = made(step(None, [*most, route(1, a=2)]).rows)
    assert (row["err_code"], row["n_clients"]) == (0, MAX_CLIENTS)
    n += 1
    crowd = [join(f"c{i}", 1, channels=MAX_CHANNELS) for i in range(n)]
    first = step(None, [*crowd, route(1, a=2)])
    [row] = made(first.rows)
    assert (row["err_code"], row["err_msg"]) == (
        4,
        "the group has 100352 clients; at most 100000 can be planned",
    )
    assert (row["client_ids"], row["owners"], row["findings"]) == ([], [-1, -1], [])
    assert step(first.state, [join("c0", 2, channels=MAX_CHANNELS)]).rows == []
    [row] = made(step(first.state, [leave(f"c{i}", 2) for i in range(1, n)]).rows)
    assert (row["err_code"], row["n_clients"]) == (0, MAX_CHANNELS)


@pytest.mark.thorough
def test_rows_are_made_in_pieces_that_fit_into_memory():
    joins = [join(f"c{i}", 1, group=f"g{i}") for i in range(5)]
    rows = step(None, [*joins, route(1, a=MAX_READ_QUEUE_NUMS)]).rows
    texts = pa.RecordBatch.from_pydict({"row": [json.dumps(row) for row in rows]})
    pieces = list(LiveRows(PlanSpec("AVG", output="owners"))([texts]))
    assert [piece.num_rows for piece in pieces] == [1] * 5, "each has so many queues, and a client"
    assert [row["n_queues"] for piece in pieces for row in piece.to_pylist()] == [
        MAX_READ_QUEUE_NUMS
    ] * 5
    rows = step(None, [*joins, route(1, a=MAX_READ_QUEUE_NUMS - 1)]).rows
    texts = pa.RecordBatch.from_pydict({"row": [json.dumps(row) for row in rows]})
    pieces = list(LiveRows(PlanSpec("AVG", output="owners"))([texts]))
    assert [piece.num_rows for piece in pieces] == [2, 2, 1], "two have just as many as fit"


# --- Any order, any repetition, any batches ---

names = st.sampled_from("abc")
times = st.integers(1, 60)
stamps = {"sequence": st.integers(0, 2)}
clients = st.builds(
    lambda kind, client, time, group, sequence: join(client, time, group, sequence=sequence) | {"kind": kind},
    st.sampled_from(["join", "heartbeat", "leave"]), names, times, st.sampled_from("gh"), st.integers(0, 1),
)  # fmt: skip
routes = st.builds(
    lambda time, brokers: route(time, **brokers), times, st.dictionaries(names, st.integers(0, 3))
)


@st.composite
def arrivals(draw):
    """Events in an order in which none comes later than the bound allows, some twice, cut into
    batches.
    """
    events = draw(st.lists(clients | routes, max_size=25))
    twice = events + draw(st.lists(st.sampled_from(events), max_size=5)) if events else []
    delayed = [
        (event["time"] + draw(st.integers(0, LATENESS - 1)), number)
        for number, event in enumerate(twice)
    ]
    arrived = [twice[number] for _, number in sorted(delayed)]
    cuts = sorted(draw(st.lists(st.integers(0, len(arrived)), max_size=6)))
    return [arrived[a:b] for a, b in zip([0, *cuts], [*cuts, len(arrived)], strict=True)]


def followed(batches, rules):
    """All rows, and the state when the watermark has come to its end; as Spark does it, and none of
    the events is late.
    """
    state, watermark, newest, rows = None, 0, 0, []
    for batch in batches:
        late_at = max(0, newest - LATENESS)
        assert all(event["time"] > late_at or late_at == 0 for event in batch), (
            "the test makes no late events"
        )
        done = step(state, batch, watermark, rules)
        state, rows = done.state, [*rows, *done.rows]
        newest = max([newest, *(event["time"] for event in batch)])
        watermark = max(0, newest - LATENESS)
    done = step(state, [], watermark, rules)
    return [*rows, *done.rows], done.state


@examples(200, nightly=3000)
@given(arrivals(), st.sampled_from([None, 3, 15, 40]))
def test_any_order_and_any_batches_give_the_answer_of_one_batch(batches, client_ttl):
    rules = FOREVER._replace(client_ttl=client_ttl)
    rows, state = followed(batches, rules)
    everything = [event for batch in batches for event in batch]
    wanted, wanted_state = followed([sorted(everything, key=json.dumps)], rules)
    assert last(rows) == last(wanted)
    assert registers(state) == registers(wanted_state)
    versions = [(row["consumer_group"], row["version"]) for row in rows]
    assert len(set(versions)) == len(versions), "no version comes twice"
    assert (
        versions == sorted(versions, key=lambda one: one[1])
        or len({group for group, _ in versions}) > 1
    )


@examples(100, nightly=1000)
@given(arrivals())
def test_a_micro_batch_that_is_replayed_gives_the_same_rows_and_state(batches):
    assert batches
    state = None
    for batch in batches:
        once, again = step(state, batch), step(state, list(reversed(batch)))
        assert once == again, "nor does the order inside it matter"
        state = once.state


@examples(100, nightly=1000)
@given(arrivals(), st.sampled_from(["AVG", "CONSISTENT_HASH", "STABLE"]))
def test_rows_fit_each_other_and_the_last_is_what_the_engine_answers(batches, name):
    rows, _ = followed(batches, FOREVER)
    texts = pa.RecordBatch.from_pydict(
        {"row": pa.array([json.dumps(row) for row in rows], pa.string())}
    )
    given, owned = next(LiveRows(PlanSpec(name, output="owners"))([texts])).to_pylist(), {}
    assert len(given) == len(rows)
    for row in given:
        group = owned.setdefault(row["consumer_group"], {})
        for one in row["changed"]:
            queue = (one["broker_name"], one["queue_id"])
            assert group.get(queue) == one["before"]
            assert (queue in group) == (one["change"] != "added")
            group[queue] = one["after"]
            if one["change"] == "removed":
                del group[queue]
        queues = [
            ("T", of["broker_name"], i)
            for of in row["brokers"]
            for i in range(of["read_queue_nums"])
        ]
        ids = row["client_ids"]
        wanted = (
            strategy(name).assign(queues, ids).owners.tolist()
            if queues and ids
            else [-1] * len(queues)
        )
        assert row["owners"] == wanted
        assert group == {
            queue[1:]: ids[owner] if owner >= 0 else None
            for queue, owner in zip(queues, wanted, strict=True)
        }
        assert row["unowned"] == wanted.count(-1)
        assert row["idle"] == len(ids) - len({*wanted} - {-1})


# --- What a row says ---


def made(rows, name="AVG"):
    texts = pa.RecordBatch.from_pydict({"row": [json.dumps(row) for row in rows]})
    return [
        row
        for piece in LiveRows(PlanSpec(name, output="owners"))([texts])
        for row in piece.to_pylist()
    ]


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([join("c", 1), route(1, a=1)], []),
        (
            [join("c", 1)],
            [
                (
                    "warning",
                    "topic-without-route",
                    "the topic has no queues; 1 clients wait for them",
                )
            ],
        ),
        (
            [join("c", 1), join("d", 1), route(1, a=1)],
            [("warning", "idle-client", "1 of 2 clients own no queue: d")],
        ),
        (
            [join("c", 1, channels=2), route(1, a=2)],
            [
                ("error", "duplicate-client-id", "several processes have one client id: c"),
                ("error", "unowned-queue", "1 of 2 queues have no owner: a:1"),
            ],
        ),
    ],
)
def test_findings(events, found):
    [row] = made(step(None, events).rows)
    assert [tuple(one.values()) for one in row["findings"]] == found


def test_a_group_whose_last_client_left_says_so():
    state = step(None, [join("c", 1), route(1, a=2)]).state
    [row] = made(step(state, [leave("c", 2)]).rows)
    assert (row["n_clients"], row["unowned"], row["moved"], row["owners"]) == (0, 2, 2, [-1, -1])
    assert [one["rule"] for one in row["findings"]] == ["no-consumer"]
