"""Verbs and readers: work per doubling of the input.

Every shape is the worst that is known for its verb. A factor of 2 means that the cost is linear in
what is doubled, and 4 that it grows with its square. The quick form counts operations, in this
process; the long one counts instructions by callgrind.
"""

import gc
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from io import StringIO
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple

from cliffs import inputs
from cliffs.doubling import Callgrind, counts_of
from cliffs.operations import operations
from cliffs.row import Row

BOUND = 2.3

Make = Callable[[int], Callable[[], object]]


class Shape(NamedTuple):
    """A call on an input of `n`, and what `n` is; the call on twice as much must not take more than
    `bound` times the work.
    """

    what: str
    shape: str
    n: int
    make: Make
    quick: bool = False
    bound: float = BOUND


def _compare(
    snapshot_of: Callable[[int], Any],
    strategies: Sequence[str] = ("AVG_BY_CIRCLE", "CONSISTENT_HASH"),
) -> Make:
    from rmqalloc.plans import Candidate, compare

    candidates = [Candidate(name, name, {}) for name in strategies]

    def make(n: int) -> Callable[[], object]:
        snapshot = snapshot_of(n)
        return lambda: compare(snapshot, candidates)

    return make


def _check_of_names(name: Callable[[int], str]) -> Make:
    """`n` groups that are all named, in so many patterns."""
    from rmqalloc.audit import check_snapshot

    def make(n: int) -> Callable[[], object]:
        snapshot = inputs.one_topic(n)
        return lambda: check_snapshot(snapshot, groups=[name(i) for i in range(n)]).unread

    return make


def _topics_set(n: int) -> Callable[[], object]:
    """Queues are set of `n` topics by name."""
    from rmqalloc.plans import plan_snapshot
    from rmqalloc.scenarios import Scenario, SetQueues

    snapshot = inputs.one_group(n)
    names = tuple(topic.name for topic in snapshot.topics)
    return lambda: plan_snapshot(
        snapshot, [Scenario("more", (SetQueues(read_queue_nums=9, topics=names),))]
    )


def _table(verb: str, snapshot_of: Callable[[int], Any]) -> Make:
    """`show` or `groups`, as text."""
    import rmqalloc

    def make(n: int) -> Callable[[], object]:
        snapshot = snapshot_of(n)
        return lambda: list(getattr(rmqalloc, verb)(snapshot).lines())

    return make


def _check(snapshot_of: Callable[[int], Any]) -> Make:
    from rmqalloc.audit import check_snapshot

    def make(n: int) -> Callable[[], object]:
        snapshot = snapshot_of(n)
        return lambda: check_snapshot(snapshot).unread

    return make


def _plan(snapshot_of: Callable[[int], Any]) -> Make:
    from rmqalloc.plans import plan_snapshot
    from rmqalloc.scenarios import RemoveClients, Scenario

    def make(n: int) -> Callable[[], object]:
        snapshot = snapshot_of(n)
        return lambda: plan_snapshot(snapshot, [Scenario("less", (RemoveClients(count=1),))]).digest

    return make


def _plan_of_names(n: int) -> Callable[[], object]:
    """`n` clients are named that are to leave."""
    from rmqalloc.plans import plan_snapshot
    from rmqalloc.scenarios import RemoveClients, Scenario

    snapshot = inputs.plain(n)
    leaving = [Scenario("less", (RemoveClients(ids=tuple(map(inputs.client_id, range(n // 2)))),))]
    return lambda: plan_snapshot(snapshot, leaving)


def _plan_of_scenarios(n: int) -> Callable[[], object]:
    from rmqalloc.plans import plan_snapshot
    from rmqalloc.scenarios import Scenario, SetQueues

    snapshot = inputs.plain(4)
    scenarios = [Scenario(f"s{i}", (SetQueues(read_queue_nums=100 + i % 9),)) for i in range(n)]
    return lambda: plan_snapshot(snapshot, scenarios)


def _explain(n: int) -> Callable[[], object]:
    from rmqalloc.plans._explain import explain

    snapshot = inputs.repeated(n)
    return lambda: explain(snapshot, "g", "topic-000000", "broker-a", 3)


def _recommend(n: int) -> Callable[[], object]:
    from rmqalloc.rollouts.advice._recommend import advise

    snapshot = inputs.many_groups(n)
    return lambda: advise(snapshot)


def _subscription(n: int) -> Callable[[], object]:
    from rmqalloc.rollouts._subscribe import change_subscription

    snapshot = inputs.many_groups(n)
    return lambda: change_subscription(snapshot, snapshot.topics[0].name, groups=["group-*[1-9]"])


def _restart(snapshot_of: Callable[[int], Any]) -> Make:
    from rmqalloc.rollouts.restart import restart

    def make(n: int) -> Callable[[], object]:
        snapshot = snapshot_of(n)
        return lambda: restart(snapshot)

    return make


def _queues(n: int) -> Callable[[], object]:
    """Fewer queues on `n` brokers."""
    from rmqalloc.rollouts.resize import resize_queues

    snapshot = inputs.many_brokers(n)
    return lambda: resize_queues(snapshot, snapshot.topics[0].name, 2)


def _broker(n: int) -> Callable[[], object]:
    from rmqalloc.rollouts._maintain import maintain_broker

    snapshot = inputs.one_topic(n)
    return lambda: maintain_broker(snapshot, "broker-a")


def _strategy(n: int) -> Callable[[], object]:
    from rmqalloc.rollouts.switch import change_strategy

    snapshot = inputs.many_groups(n)
    return lambda: change_strategy(snapshot, "AVG_BY_CIRCLE")


def _simulate(n: int) -> Callable[[], object]:
    """A group of `n` clients that start one after the other."""
    from rmqalloc.simulation import Script, simulate

    script = Script.of(inputs.script(n))
    return lambda: simulate(script)


def _made(snapshot_of: Callable[[int], Any], n: int) -> Any:
    from rmqalloc.plans import plan_snapshot
    from rmqalloc.scenarios import RemoveClients, Scenario

    return plan_snapshot(snapshot_of(n), [Scenario("less", (RemoveClients(count=1),))])


def _transitions(snapshot_of: Callable[[int], Any]) -> Make:
    """What is open while clients follow a plan that is there already."""

    def make(n: int) -> Callable[[], object]:
        made = _made(snapshot_of, n)
        return lambda: made.transitions("timer")

    return make


def _diff_by_pairs(n: int) -> Callable[[], object]:
    """A client less of a group of about `n` pairs of a client and a topic."""
    from dataclasses import replace

    import rmqalloc

    before = inputs.own_topics(isqrt(n))
    after = replace(
        before, groups=tuple(replace(one, clients=one.clients[1:]) for one in before.groups)
    )
    return lambda: rmqalloc.diff(before, after)


def _diff(n: int) -> Callable[[], object]:
    """Snapshots of `n` groups, of which every other one lost a client."""
    from dataclasses import replace

    import rmqalloc

    before = inputs.many_groups(n)
    groups = (replace(one, clients=one.clients[i % 2 :]) for i, one in enumerate(before.groups))
    after = replace(before, groups=tuple(groups))
    return lambda: rmqalloc.diff(before, after)


def _verify(n: int) -> Callable[[], object]:
    """The checker on a saved plan."""
    import rmqalloc

    path = Path(tempfile.gettempdir()) / f"cliffs-{n}-proof.json"
    _made(inputs.many_groups, n).save(path)

    def call() -> None:
        rmqalloc.verify(path)
        path.unlink()

    return call


def _report(n: int) -> Callable[[], object]:
    from rmqalloc.report.html import report

    made = _made(inputs.one_group, n)
    return lambda: report(made)


def _markdown(n: int) -> Callable[[], object]:
    from rmqalloc.report.formats import write_table

    made = _made(inputs.many_groups, n)
    return lambda: write_table(made.groups, "md", StringIO(), sort="-moved")


def _plan_file(n: int) -> Callable[[], object]:
    """Write a plan and read it."""
    from rmqalloc.plans import load_plan, save_plan

    made, path = _made(inputs.many_groups, n), Path(tempfile.gettempdir()) / f"cliffs-{n}-plan.json"

    def call() -> None:
        save_plan(made, path)
        load_plan(path)
        path.unlink()

    return call


def _read(name: str, snapshot_of: Callable[[int], Any]) -> Make:
    """Read a file of a form."""
    from rmqalloc.snapshot.files import read_snapshot, write_snapshot

    def make(n: int) -> Callable[[], object]:
        path = Path(tempfile.gettempdir()) / f"cliffs-{n}-{name}"
        write_snapshot(snapshot_of(n), str(path))

        def call() -> None:
            read_snapshot(str(path))
            path.unlink()

        return call

    return make


def _progress(n: int) -> Callable[[], object]:
    """`mqadmin consumerProgress`: lines of queues."""
    from rmqalloc.snapshot.files import read_snapshot

    head = "#Topic  #Broker Name  #QID  #Broker Offset  #Consumer Offset  #Client IP  #Diff  #LastTime\n"
    path = Path(tempfile.gettempdir()) / f"consumerProgress.cliffs-{n}.txt"
    line = "{:<64}  {:<32}  {:<4}  {:<20}  {:<20}  {:<20} {:<20}  {}"
    lines = (
        line.format(f"topic-{i}", "broker-a", 0, 9, 3, "10.1.1.1", 6, "2024-01-01 00:00:00")
        for i in range(n)
    )
    path.write_text(head + "\n".join(lines) + "\n\nConsume TPS: 0.00\nDiff Total: 0\n")
    return lambda: read_snapshot(f"{path}")


_NEARBY = ("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH")
_PAIRS = "pairs of a client and a topic, every client with its own topic"


def _one_by_one(factor: str) -> str:
    """Of a plain group: how many clients all steps touch together is part of the answer."""
    return f"clients of a plain group of 1,000 queues, one by one, whose steps touch {factor} times as many clients"


def _by_pairs(verb: Callable[[Callable[[int], Any]], Make]) -> Make:
    """A verb that works out every client of every topic, on a group of about `n` of these pairs."""
    return verb(lambda n: inputs.own_topics(isqrt(n)))


SHAPES: list[Callable[[], Shape]] = [
    lambda: Shape("compare", _PAIRS, 10_000, _by_pairs(_compare), quick=True),
    lambda: Shape(
        "compare",
        "clients of a plain group of 1,000 queues",
        500,
        _compare(inputs.plain),
        quick=True,
    ),
    lambda: Shape(
        "compare",
        "clients by AVG, every id given twice",
        1000,
        _compare(inputs.twice, ("AVG_BY_CIRCLE",)),
    ),
    lambda: Shape(
        "compare",
        "clients of a ring, every id given twice",
        400,
        _compare(inputs.twice),
        quick=True,
    ),
    lambda: Shape(
        "compare",
        "clients of NEARBY, every id given twice",
        400,
        _compare(inputs.nearby, _NEARBY),
        quick=True,
    ),
    lambda: Shape(
        "check", "clients, every one with its own topic", 100, _check(inputs.own_topics), quick=True
    ),
    lambda: Shape(
        "check",
        "clients, and as many topics that each may read",
        100,
        _check(inputs.square),
        quick=True,
    ),
    lambda: Shape(
        "check", "clients and queues, every other client silent", 200, _check(inputs.silent)
    ),
    lambda: Shape("check", "brokers that pause the group", 400, _check(inputs.paused)),
    lambda: Shape("check", "groups that are named", 400, _check_of_names("group-{:06}".format)),
    lambda: Shape(
        "check",
        "topics of a group, each with a stranded backlog",
        200,
        _check(inputs.one_group),
        quick=True,
    ),
    lambda: Shape(
        "check",
        "clients that each have another release and another route",
        200,
        _check(inputs.odd_clients),
    ),
    lambda: Shape(
        "check",
        "clients of CONFIG, each with a list and a topic of its own",
        50,
        _check(inputs.listed),
    ),
    lambda: Shape("check", "brokers of which a slave alone is left", 200, _check(inputs.slaves)),
    lambda: Shape("check", "groups of one topic", 200, _check(inputs.one_topic)),
    lambda: Shape("plan", _PAIRS, 10_000, _by_pairs(_plan), quick=True),
    lambda: Shape("plan", "groups, each with another strategy", 100, _plan(inputs.many_groups)),
    lambda: Shape("plan", "topics of one group", 300, _plan(inputs.one_group)),
    lambda: Shape("plan", "groups of one topic", 300, _plan(inputs.one_topic)),
    lambda: Shape("plan", "clients that leave by name", 500, _plan_of_names),
    lambda: Shape("plan", "topics of one group whose queues are set by name", 400, _topics_set),
    lambda: Shape("plan", "scenarios", 50, _plan_of_scenarios),
    lambda: Shape(
        "transitions", "groups, each with another strategy", 100, _transitions(inputs.many_groups)
    ),
    lambda: Shape("transitions", "topics of one group", 300, _transitions(inputs.one_group)),
    lambda: Shape("transitions", _PAIRS, 10_000, _by_pairs(_transitions)),
    lambda: Shape("diff", "groups, every other one without a client that it had", 100, _diff),
    lambda: Shape("diff", _PAIRS, 10_000, _diff_by_pairs),
    lambda: Shape(
        "show", "groups, each with another strategy", 100, _table("show", inputs.many_groups)
    ),
    lambda: Shape("show", _PAIRS, 10_000, _by_pairs(partial(_table, "show"))),
    lambda: Shape(
        "groups", "groups, each with another strategy", 100, _table("groups", inputs.many_groups)
    ),
    lambda: Shape("groups", _PAIRS, 10_000, _by_pairs(partial(_table, "groups"))),
    lambda: Shape("verify", "groups, each with another strategy", 100, _verify),
    lambda: Shape("explain", "clients of a ring, every id given twice", 300, _explain),
    lambda: Shape("recommend", "groups, each with another strategy", 50, _recommend),
    lambda: Shape("rollout restart", "groups", 100, _restart(inputs.many_groups)),
    lambda: Shape("rollout restart", _one_by_one("4.9"), 400, _restart(inputs.plain), bound=3.0),
    lambda: Shape("rollout restart", _one_by_one("2.5"), 800, _restart(inputs.plain), bound=2.6),
    lambda: Shape(
        "rollout restart",
        "clients of a ring of 1,000 queues, one by one",
        400,
        _restart(inputs.ring),
    ),
    lambda: Shape(
        "rollout restart",
        "clients of a ring of 1,000 queues, one by one",
        800,
        _restart(inputs.ring),
    ),
    lambda: Shape("rollout subscription", "groups", 100, _subscription),
    lambda: Shape(
        "rollout queues", "brokers, each with a backlog that is known", 200, _queues, quick=True
    ),
    lambda: Shape("rollout broker", "groups of one topic", 100, _broker),
    lambda: Shape("rollout strategy", "groups, each with another strategy", 50, _strategy),
    lambda: Shape("simulate", "clients of a group", 10, _simulate),
    lambda: Shape("report, HTML", "topics of a group", 100, _report),
    lambda: Shape("plan, Markdown", "groups", 50, _markdown),
    lambda: Shape("plan file", "groups", 50, _plan_file),
    lambda: Shape("read JSON", "groups", 200, _read("s.json", inputs.many_groups)),
    lambda: Shape(
        "read JSON",
        "clients, every one with its own topic",
        200,
        _read("t.json", inputs.own_topics),
    ),
    lambda: Shape("read YAML", "groups", 50, _read("s.yaml", inputs.many_groups)),
    lambda: Shape("read CSV", "clients that own queues", 300, _read("s.csv", inputs.odd_clients)),
    lambda: Shape(
        "read Parquet", "clients that own queues", 300, _read("s.parquet", inputs.odd_clients)
    ),
    lambda: Shape("read mqadmin text", "topics of a group", 300, _progress),
]


def chosen(arguments: list[str]) -> list[Shape]:
    """Shapes of a run: of `quick` those that take little, else all, or those at given places."""
    places = [int(one) for one in arguments if one.isdecimal()]
    shapes = [SHAPES[place]() for place in places] if places else [make() for make in SHAPES]
    return [shape for shape in shapes if shape.quick or "quick" not in arguments]


def rows(quick: bool, places: tuple[int, ...] = ()) -> list[Row]:
    """Count every shape; with `quick`, those alone that take little."""
    arguments = ["quick"] * quick + [str(place) for place in places]
    shapes = chosen(arguments)
    counts = _operations(shapes) if quick else counts_of("cliffs.verbs", arguments)
    if len(counts) != 2 * len(shapes):
        sys.exit(f"callgrind counted {len(counts)} calls of {2 * len(shapes)}")
    pairs = zip(shapes, counts[::2], counts[1::2], strict=True)
    unit = "operations" if quick else "instructions"
    return [
        Row(s.what, f"{s.shape}: {s.n:,} to {2 * s.n:,}", two / one, s.bound, unit)
        for s, one, two in pairs
    ]


def _calls(shapes: Sequence[Shape]) -> Iterator[Callable[[], object]]:
    """Both calls of every shape, which is called once before, as the first call imports."""
    for shape in shapes:
        shape.make(2)()
        for n in (shape.n, 2 * shape.n):
            yield shape.make(n)


def _operations(shapes: Sequence[Shape]) -> list[int]:
    return [operations(call) for call in _calls(shapes)]


class _NoPandas(MetaPathFinder):
    """Arrow imports pandas where it is there, which takes 10 s under valgrind."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and leave all else to others."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def main() -> None:
    """Make the calls; this is what runs under callgrind."""
    sys.meta_path.insert(0, _NoPandas())
    gc.disable()  # when it runs depends on all that ran before
    Callgrind().count(_calls(chosen(sys.argv[1:])))


if __name__ == "__main__":
    main()
