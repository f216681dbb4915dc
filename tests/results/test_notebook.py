"""What results, snapshots and fleets are in a notebook: one line, ten rows, frames and pictures."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import report_plans
from page_reader import Page

import rmqalloc
from rmqalloc.audit import Findings
from rmqalloc.results.tabular import Tabular
from rmqalloc.simulation import Script
from rmqalloc.snapshot import Client, Group, Lag, Snapshot, SourceError, Topic, TopicBroker

HOSTILE = '<script>alert(1)</script>$\\frac$\x1b[2J\u202e"\n&_'
TAGS = {"div", "b", "bdi", "table", "tr", "th", "td"}
SIX = {"name": "six", "changes": [{"scale_clients": {"to": 6}}]}


def cluster(n_groups=3, n_clients=4, n_queues=8, name="group"):
    topics = tuple(Topic(f"T-{i}", (TopicBroker("b", n_queues),)) for i in range(n_groups))
    groups = []
    for i, topic in enumerate(topics):
        clients = tuple(Client(f"10.0.0.{j}@{name}-{i}") for j in range(n_clients))
        lags = tuple(Lag(queue, 100, 90 - queue.queue_id) for queue in topic.queues())
        groups.append(Group(f"{name}-{i}", (topic.name,), clients, strategy="AVG", lags=lags))
    return Snapshot(topics, tuple(groups), fetched_at="2026-03-01T03:12:00Z")


def simulated(name="g", **settings):
    script = {"duration": "30s", "brokers": "b", "topics": [{"name": "T", "read_queue_nums": 4}]}
    events = [{"at": "20s", "shutdown": {"clients": f"{name}-1"}}]
    groups = [{"name": name, "topics": "T", "clients": 2}]
    return rmqalloc.simulate(Script.of(script | {"groups": groups, "events": events} | settings))


def results_of(snapshot):
    """A result of every verb, and what holds tables besides."""
    group = snapshot.groups[0]
    queue = next(snapshot.topics[0].queues())
    units = [(g.name, g.subscriptions[0], [("b", 0)], g.client_ids) for g in snapshot.groups]
    return {
        "snapshot": snapshot,
        "group": group,
        "topic": snapshot.topics[0],
        "fleet": rmqalloc.Fleet.from_groups(units),
        "plan": rmqalloc.plan(snapshot, [SIX]),
        "compare": rmqalloc.compare(snapshot, ["AVG", "AVG_BY_CIRCLE"]),
        "check": rmqalloc.check(snapshot),
        "show": rmqalloc.show(snapshot),
        "groups": rmqalloc.groups(snapshot),
        "diff": rmqalloc.diff(snapshot, Snapshot(snapshot.topics, snapshot.groups[1:])),
        "explain": rmqalloc.explain(snapshot, group.name, *queue),
        "rollout": rmqalloc.rollout.restart(snapshot),
        "recommend": rmqalloc.recommend(snapshot),
    }


NAMES = tuple(results_of(cluster()))


@pytest.fixture(scope="module")
def small():
    return {**results_of(cluster()), "simulate": simulated()}


@pytest.fixture(scope="module")
def large():
    return results_of(cluster(2000))


@pytest.fixture(scope="module")
def hostile():
    return results_of(cluster(name=HOSTILE))


# --- Sizes ---


@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_size_of_the_cluster_a_result_is_one_line_and_ten_rows(name, large):
    result = large[name]
    assert re.fullmatch(r"<[^\n]{5,200}>", repr(result))
    markup = result._repr_html_()
    assert markup.count("<tr>") <= 11 and len(markup) < 30_000


@pytest.mark.parametrize("example", ["48-pods", "duplicate-id", "live", "orders", "seed"])
def test_an_example_is_one_line(example):
    found = rmqalloc.read(f"example:{example}")
    for shown in (found, *found.groups, *found.topics, *found.groups[0].clients):
        assert re.fullmatch(r"<[^\n]{5,200}>", repr(shown))


def test_what_each_line_says(small):
    assert {name: repr(result) for name, result in small.items()} == {
        "snapshot": "<Snapshot of 3 groups, 12 clients, 3 topics, taken 2026-03-01T03:12:00Z, complete>",
        "group": "<Group group-0 of 4 clients, 1 topic, strategy AVG>",
        "topic": "<Topic T-0 of 1 broker, 8 queues>",
        "fleet": "<Fleet of 3 groups, 3 queues, 12 clients>",
        "plan": "<Plan of 3 groups, scenarios: six>",
        "compare": "<Comparison of 3 groups, strategies: AVG, AVG_BY_CIRCLE>",
        "check": "<Findings: 0 findings>",
        "show": "<CurrentOwners of 3 groups: 24 queues, 324 messages waiting>",
        "groups": "<GroupList of 3 groups, 12 clients; 0 findings>",
        "diff": "<Diff of 3 groups: 8 queues and 1 change>",
        "explain": "<Explanation of queue b:0 of T-0 in group group-0: owned by 10.0.0.0@group-0>",
        "rollout": "<Rollout of 3 groups: 27 steps, 78 queues moved>",
        "recommend": "<Advice on 3 groups, 12 clients: all have work>",
        "simulate": "<Result of the simulation 'simulation': 2 events, 1 run>",
    }


def test_a_snapshot_says_whether_it_is_complete():
    lost = SourceError("broker b", "GET_CONSUME_STATS g", "timeout")
    assert repr(Snapshot(errors=(lost,))).endswith("0 topics, partial (1 error)>")
    for partial in (
        Snapshot(unknown={"routes": "x"}),
        Snapshot(groups=(Group("g", unknown={"clients": "x"}),)),
        Snapshot(topics=(Topic("T", unknown={"routes": "x"}),)),
    ):
        assert repr(partial).endswith(", partial>")


def test_many_scenarios_and_long_names_are_cut():
    scenarios = [{**SIX, "name": f"{i:03}-{'x' * 300}"} for i in range(30)]
    plan = rmqalloc.plan(cluster(), scenarios)
    assert len(repr(plan)) <= 202 and repr(plan).endswith("and 27 more>")
    markup = plan._repr_html_()
    assert markup.count("<tr>") <= 15 and "and 25 more scenarios" in markup and len(markup) < 30_000


def test_a_fleet_counts_a_group_of_several_topics_once():
    queues = [("b", 0), ("b", 1)]
    units = [
        ("g", "T", queues, ["x", "y"]),
        ("g", "U", queues, ["x", "y"]),
        ("h", "T", queues, ["z"]),
    ]
    fleet = rmqalloc.Fleet.from_groups(units)
    assert repr(fleet) == "<Fleet of 2 groups, 6 queues, 3 clients>"
    bad = rmqalloc.Fleet.from_groups([*units, ("i", "T", None, ["z"])], on_error="report")
    assert repr(bad).endswith(", 1 malformed unit>")
    assert repr(rmqalloc.Fleet.from_groups([])) == "<Fleet of 0 groups, 0 queues, 0 clients>"


# --- Hostile names ---


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_cluster_is_markup(name, hostile):
    line, markup = repr(hostile[name]), hostile[name]._repr_html_()
    assert line.isprintable() and len(line) <= 202
    assert {tag for tag, _ in Page(markup).elements} <= TAGS
    assert all(c.isprintable() for c in markup)
    assert "color" not in markup.replace("border-collapse", "")


def test_hostile_findings_are_escaped():
    markup = Findings(report_plans.hostile_findings())._repr_html_()
    assert {tag for tag, _ in Page(markup).elements} <= TAGS


# --- Frames ---


@pytest.mark.needs("pandas")
@pytest.mark.parametrize("name", [*NAMES, "simulate"])
def test_frames_and_tables_hold_the_rows(name, small):
    result = small[name]
    assert result.to_arrow().equals(result.main_table())
    for table in result.TABLES:
        found, frame = result.to_arrow(table), result.to_pandas(table)
        assert isinstance(found, pa.Table) and list(frame.columns) == found.column_names
        assert len(frame) == found.num_rows
        for column in found.column_names:
            pairs = zip(frame[column].tolist(), found[column].to_pylist(), strict=True)
            assert all(same(value, expected) for value, expected in pairs), column
    if result.TABLES:
        assert result.to_pandas().equals(result.to_pandas(result.TABLES[0]))
    with pytest.raises(rmqalloc.ArgumentError, match=r"has no table 'loads'; it has "):
        result.to_arrow("loads")


def same(value, expected):
    """Whether pandas' value is that of a row: null is NaN among numbers, a list an array."""
    if isinstance(expected, list):
        return list(value) == expected
    return value == expected or (expected is None and (value is None or value != value))


def test_the_tables_of_a_snapshot_are_its_parts():
    found = cluster()
    assert found.to_arrow()["messages"].to_pylist() == [108, 108, 108]
    assert found.to_arrow("clients")["client_id"].to_pylist() == [
        client.client_id for group in found.groups for client in group.clients
    ]
    assert found.to_arrow("topics")["read_queue_nums"].to_pylist() == [8, 8, 8]


def test_a_fleet_is_a_table_of_units_or_of_owners():
    fleet = rmqalloc.Fleet.from_groups([("g", "T", [("b", 0), ("b", 1)], ["x"])])
    assert fleet.to_arrow().to_pylist() == [
        {"consumer_group": "g", "topic": "T", "n_queues": 2, "n_clients": 1}
    ]
    owners = np.zeros(2, np.int32)
    assert fleet.to_arrow(owners)["owners"].to_pylist() == [[0, 0]]


# --- Pictures ---

matplotlib = pytest.mark.needs("matplotlib")


def lengths(axes):
    return [bar.get_width() for bar in axes.patches]


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


@matplotlib
def test_a_plan_draws_the_queues_of_each_client_before_and_after(small):
    plan = rmqalloc.plan(
        cluster(), [SIX, {"name": "gone", "changes": [{"remove_clients": {"count": 1}}]}]
    )
    axes = plan.plot("group-1").axes[0]
    rows = [r for r in plan.clients.to_pylist() if r["consumer_group"] == "group-1"]
    clients = sorted({row["client_id"] for row in rows})
    assert sorted(labels(axes)) == clients

    def counts(scenario, column):
        of = {r["client_id"]: r[column] for r in rows if r["scenario"] == scenario}
        return [of.get(client, 0) for client in labels(axes)]

    expected = [*counts("current", "before"), *counts("six", "after"), *counts("gone", "after")]
    assert lengths(axes) == expected and sum(expected) == 24
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["before", "after: six", "after: gone"]
    assert len(lengths(plan.plot("group-1", "six").axes[0])) == 2 * len(clients)


@matplotlib
def test_the_queues_of_all_topics_of_a_client_are_one_bar():
    topics = tuple(Topic(name, (TopicBroker("b", 4),)) for name in "TU")
    group = Group("g", ("T", "U"), (Client("x"), Client("y")), strategy="AVG")
    axes = rmqalloc.plan(Snapshot(topics, (group,)), [SIX]).plot().axes[0]
    before = dict(zip(labels(axes), lengths(axes)[:6], strict=True))
    assert (before["x"], before["y"], sum(lengths(axes))) == (4, 4, 16)


@matplotlib
def test_a_plan_draws_the_group_that_moves_most_and_the_clients_that_change_most():
    still = Group("still", ("T-0",), tuple(map(Client, "abcdef")), strategy="AVG")
    found = cluster(1, n_clients=30, n_queues=60)
    plan = rmqalloc.plan(Snapshot(found.topics, (still, *found.groups)), [SIX])
    axes = plan.plot(top=5).axes[0]
    assert axes.get_title(loc="left") == "group-0: queues by client (5 of 30 clients)"
    assert lengths(axes)[5:] == [10, 10, 10, 10, 10] and lengths(axes)[:5] == [2] * 5


@matplotlib
def test_owners_draw_the_lag_of_each_client(small):
    axes = small["show"].plot("group-1").axes[0]
    rows = [r for r in small["show"].clients.to_pylist() if r["consumer_group"] == "group-1"]
    lag = {row["client_id"]: row["messages"] for row in rows}
    assert lengths(axes) == [lag[client] for client in labels(axes)] == [21, 25, 29, 33]
    everyone = small["show"].plot().axes[0]
    assert sum(lengths(everyone)) == 324 and "10.0.0.0@group-0 (group-0)" in labels(everyone)
    assert lengths(small["show"].plot("group-1", "n_queues").axes[0]) == [2, 2, 2, 2]


@matplotlib
def test_an_unknown_lag_has_no_bar_and_no_lag_no_picture():
    found = cluster(1)
    group = found.groups[0]
    some = Group(
        group.name, group.subscriptions, group.clients, strategy="AVG", lags=group.lags[:2]
    )
    drawn = rmqalloc.show(Snapshot(found.topics, (some,))).plot().axes[0]
    assert lengths(drawn) == [21, 0, 0, 0]
    assert [text.get_text() for text in drawn.texts] == [" unknown"] * len(drawn.texts)
    none = Group(group.name, group.subscriptions, group.clients, strategy="AVG")
    owners = rmqalloc.show(Snapshot(found.topics, (none,)))
    with pytest.raises(rmqalloc.ArgumentError, match="no lag is known of any client"):
        owners.plot()
    assert lengths(owners.plot(column="n_queues").axes[0]) == [2, 2, 2, 2]


@matplotlib
def test_a_rollout_draws_its_steps(small):
    unowned, double = small["rollout"].plot("group-2").axes[0].lines
    rows = [r for r in small["rollout"].steps.to_pylist() if r["consumer_group"] == "group-2"]
    assert unowned.get_xdata().tolist() == [row["step"] for row in rows]
    assert unowned.get_ydata().tolist() == [row["unowned"] for row in rows]
    assert double.get_ydata().tolist() == [row["double_owned"] for row in rows]
    assert any(unowned.get_ydata())


@matplotlib
def test_a_simulation_draws_its_gaps_over_time():
    result = simulated()
    unowned, double, event = result.plot().axes[0].lines
    gaps = result.ownerships[0].gaps
    seconds, n_queues = np.array(unowned.get_xdata()), np.array(unowned.get_ydata())
    area = (np.diff(seconds) * n_queues[:-1]).sum()
    assert area == pytest.approx(gaps.total() / 1000) and area > 0
    assert not any(double.get_ydata())
    assert list(event.get_xdata()) == [20, 20] and seconds[[0, -1]].tolist() == [0, 30]


@matplotlib
def test_after_a_long_warm_up_events_lie_where_the_picture_has_them():
    result = simulated(warm_up="90s")
    assert result.since > 80_000
    assert [line.get_xdata()[0] for line in result.plot().axes[0].lines[2:]] == [30]


@matplotlib
@pytest.mark.parametrize("kind", ["plan", "show", "rollout"])
def test_names_of_a_cluster_are_drawn_as_text(kind, hostile):
    """No formula, no markup, nothing invisible."""
    picture = hostile[kind].plot()
    drawing = picture._repr_svg_()
    assert "<script" not in drawing and "&lt;script&gt;" in drawing and "\x1b" not in drawing
    assert picture._repr_png_().startswith(b"\x89PNG")


@matplotlib
def test_letters_that_the_font_lacks_are_no_warning_and_equal_pictures_equal_files():
    pictures = [rmqalloc.plan(cluster(name="订单\U0001f680"), [SIX]).plot() for _ in range(2)]
    assert pictures[0]._repr_svg_() == pictures[1]._repr_svg_()
    assert len(pictures[0]._repr_svg_()) < 40_000


@matplotlib
@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda small: small["plan"].plot("group-9"), "no consumer group matches 'group-9'"),
        (lambda small: small["plan"].plot(scenario="x"), "has no scenario 'x'; it has six"),
        (lambda small: small["plan"].plot(top=-1), "top must be a number of rows"),
        (lambda small: small["show"].plot("group-9"), "no consumer group matches 'group-9'"),
        (
            lambda small: small["show"].plot(column="host"),
            "column must be one of messages, n_queues",
        ),
        (lambda small: small["rollout"].plot("group-9"), "no consumer group matches 'group-9'"),
        (lambda small: small["simulate"].plot("h"), "has no group 'h'; it has g"),
    ],
)
def test_what_is_not_there_is_not_drawn(draw, said, small):
    with pytest.raises(rmqalloc.Error, match=said):
        draw(small)


def test_nothing_is_drawn_of_nothing():
    empty = rmqalloc.plan(cluster(), [])
    with pytest.raises(rmqalloc.Error, match="has no scenario None; it has none"):
        empty.plot()


@matplotlib
def test_a_picture_needs_no_pyplot():
    script = (
        "import sys, rmqalloc; rmqalloc.show(rmqalloc.read('example:orders')).plot()._repr_svg_();"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# --- Packages that are missing ---


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("pandas", "rmqalloc.read('example:seed').to_pandas()"),
        ("pandas", "rmqalloc.show(rmqalloc.read('example:seed')).to_pandas('clients')"),
        ("matplotlib", "rmqalloc.show(rmqalloc.read('example:orders')).plot()"),
        ("matplotlib", "rmqalloc.rollout.restart(rmqalloc.read('example:seed')).plot()"),
        ("pyarrow", "rmqalloc.read('example:seed').to_arrow()"),
        ("pyarrow", "rmqalloc.Fleet.from_groups([]).to_arrow()"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(missing, call):
    script = f"""
import sys, rmqalloc
class Missing:
    def find_spec(name, path, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError("no " + name, name=name)
sys.meta_path.insert(0, Missing)
{call}"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    extra = rmqalloc.errors.EXTRAS[missing][1]
    assert last.startswith("ModuleNotFoundError: ") and f"with the extra [{extra}]" in last
    assert missing in last


def test_markup_needs_numpy_alone():
    script = (
        "import sys; sys.modules['pyarrow'] = None; import rmqalloc\n"
        "found = rmqalloc.read('example:live'), rmqalloc.Fleet.from_groups([('g', 'T', [('b', 0)], ['c'])])\n"
        "print(*found); print([len(result._repr_html_()) > 100 for result in found])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[True, True]\n")


def test_every_class_with_tables_has_one_implementation():
    def below(kind):
        yield kind
        for child in kind.__subclasses__():
            yield from below(child)

    own = {"__repr__", "_repr_html_", "to_pandas", "to_arrow"}
    kinds = {kind for kind in below(Tabular) if kind.__module__.startswith("rmqalloc.")}
    assert len(kinds) > 12
    assert {
        f"{kind.__name__}.{name}" for kind in kinds - {Tabular} for name in own & vars(kind).keys()
    } <= {"Fleet.to_arrow"}
