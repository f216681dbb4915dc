"""How each face is called: what is asked, and what the slow twin answers.

A function takes the `World` and a random number generator and returns a call without arguments and
what is right: `ANY` (no answer is compared; it must not crash), `REFUSED` (one of the documented
errors), or the value itself.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from index_twins import by_numpy, one_of_list

import rmqalloc
from public_faces import called_columns, hostile
from public_faces.signs import ANY, REFUSED
from public_faces.world import CLIENTS, QUEUES, SCENARIOS, said
from rmqalloc import Assignment, SharedAssignment, strategy
from rmqalloc.evaluation import client_load, expand_owners
from rmqalloc.fleet.columns import Strings
from rmqalloc.rebalance import sorted_allocate
from rmqalloc.scenarios import Changed, Rules, apply, ordered
from rmqalloc.simulation import svg_timeline, text_timeline


def _right(found):
    """`REFUSED` for None."""
    return REFUSED if found is None else found


# --- Positions ---


def _unit(method, of):
    """A method of a fleet that takes one unit."""

    def called(world, random):
        known = random.choice(world.known)
        things, index = of(known), hostile.odd(random, len(known.groups))
        if random.random() < 0.4:
            index = hostile.number(random, len(things))
        found = one_of_list(things, index)
        return lambda: getattr(known.fleet, method)(index), REFUSED if found is None else found[0]

    return called


def _string(world, random):
    known = random.choice(world.known)
    index = random.choice((hostile.odd, hostile.number))(random, len(known.groups))
    found = one_of_list(known.groups, index)
    return lambda: known.fleet.consumer_groups[index], REFUSED if found is None else found[0]


def _stretch(world, random):
    known = random.choice(world.known)
    ends = [
        random.choice((None, hostile.number(random, len(known.groups)), hostile.odd(random, 5)))
        for _ in range(2)
    ]
    try:
        right = known.groups[slice(*ends)]
    except TypeError:
        right = REFUSED
    return lambda: known.fleet.consumer_groups.to_list(*ends), right


def _select(world, random):
    known = random.choice(world.known)
    index = hostile.index(random, len(known.groups))
    rule = random.choice([made for _, made in world.rules if not made.is_shared])

    def ask():
        part = known.fleet.select(index)
        found = said(part)
        owners = rule.assign_fleet(part.sorted(), on_error="report")
        assert owners.size == sum(len(queues) for _, _, queues, _ in found)
        part.own_lists().to_arrow(owners)
        return found

    return ask, _right(by_numpy(known.whole, index))


def _taken(of, take, tell):
    def called(world, random):
        known = random.choice(world.known)
        things = of(known.fleet)
        index = hostile.index(random, len(things))
        return lambda: tell(take(known.fleet)(index)), _right(by_numpy(things, index))

    return called


def _finding(world, random):
    findings = world.findings
    index = random.choice((hostile.odd, hostile.number, hostile.index))(random, len(findings))
    try:
        right = list(findings)[index]
    except (IndexError, TypeError, ValueError):
        right = REFUSED
    return lambda: list(findings[index]) if isinstance(index, slice) else findings[index], right


def _queue(method):
    def called(name):
        def asked(world, random):
            made = random.choice(world.rules_with(name))
            index = random.choice((hostile.odd, hostile.number))(random, len(QUEUES))
            if one_of_list(QUEUES, index) is None:
                return lambda: getattr(made, method)(QUEUES, CLIENTS, index), REFUSED
            if method == "explain" or made.is_shared:
                return lambda: getattr(made, method)(QUEUES, CLIENTS, index), ANY
            return lambda: made.owner_of(QUEUES, CLIENTS, index), made.assign(
                QUEUES, CLIENTS
            ).owners.tolist()[index]

        return asked

    return called


# --- Owners, counts, out= ---


def _owners(world, random):
    """An owners vector, good or not, of a fleet, and whether it fits."""
    fleet = random.choice(world.known).fleet
    good = strategy("AVG").assign_fleet(fleet, on_error="report")
    given = good if random.random() < 0.2 else hostile.numbers_like(random, good)
    return (
        fleet,
        given,
        isinstance(given, np.ndarray) and given.dtype == np.int32 and given.shape == good.shape,
    )


def _to_arrow(world, random):
    fleet, owners, fits = _owners(world, random)
    if not fits:
        return lambda: fleet.to_arrow(owners), REFUSED
    ends = fleet.queue_offsets.tolist()
    right = [owners[lo:hi].tolist() for lo, hi in pairwise(ends)]
    return lambda: fleet.to_arrow(owners)["owners"].to_pylist(), right


def _shares_memory(world, random):
    fleet = random.choice(world.known).fleet
    array = random.choice(
        (fleet.unit_topic, fleet.queue_lists.route_offsets, fleet.consumer_groups.values)
    )
    given = hostile.shaped(random, array if random.random() < 0.5 else array.copy())
    if not isinstance(given, np.ndarray):
        return lambda: fleet.shares_memory(given), REFUSED
    held = (fleet.unit_topic, fleet.queue_lists.route_offsets, fleet.consumer_groups.values)
    return lambda: bool(fleet.shares_memory(given)), any(
        np.shares_memory(given, one) for one in held
    )


def _assign_fleet(name):
    def asked(world, random):
        made = random.choice(world.rules_with(name))
        fleet = random.choice([*(known.fleet for known in world.known), world.rooms])
        out = _out_of(random, fleet)
        right = ANY
        if (
            not made.is_shared
            and isinstance(out, np.ndarray)
            and out.dtype == np.int32
            and not fleet.errors
        ):
            right = (
                made.assign_fleet(fleet, on_error="report").tolist()
                if _fits(out, fleet)
                else REFUSED
            )
        threads = random.choice((1, 1, 2, 3))
        return lambda: made.assign_fleet(
            fleet, out, on_error="report", threads=threads
        ).tolist(), right

    return asked


def _out_of(random, fleet):
    """Memory to write to, of the fleet's own at times."""
    size = int(fleet.queue_offsets[-1])
    kind = random.random()
    if kind < 0.25:
        return np.full(size + 8, 77, np.int32)[4 : 4 + size]
    if kind < 0.45:
        own = random.choice((fleet.n_queues, fleet.unit_topic, fleet.queue_lists.queue_ids, fleet.queue_lists.route_topic,
                             fleet.client_lists.first, fleet.queue_offsets, fleet.queue_lists.route_offsets))  # fmt: skip
        return own.view(np.int32)[:size]
    return hostile.numbers_like(random, np.zeros(size, np.int32))


def _fits(out, fleet):
    return (
        out.shape == (fleet.queue_offsets[-1],)
        and out.flags.carray
        and not fleet.shares_memory(out)
    )


def _assignment(world, random):
    owners = np.array([random.randint(-1, 2) for _ in QUEUES], np.int32)
    given = owners if random.random() < 0.3 else hostile.numbers_like(random, owners)
    made = Assignment(given, QUEUES, CLIENTS)
    fits = (
        isinstance(given, np.ndarray)
        and given.dtype.kind in "iu"
        and given.shape == (6,)
        and int(given.max()) < 3
    )

    def ask():
        return made.counts().tolist(), made.queues_of("y@2"), made.unowned

    if not fits:
        return ask, REFUSED
    numbers = given.tolist()
    right = [numbers.count(i) for i in range(3)]
    return ask, (
        right,
        [QUEUES[i] for i in range(6) if numbers[i] == 1],
        [QUEUES[i] for i in range(6) if numbers[i] < 0],
    )


# --- Queues and client ids as arrays ---


def _as_given(random, things):
    """A list as an array of objects, of text or of numbers, masked by mistake, or as anything else."""
    kind = random.random()
    if kind < 0.3:
        box = np.empty(len(things), object)
        box[:] = things
        return box if random.random() < 0.7 else hostile.shaped(random, box)
    if kind < 0.5:
        return np.array([str(one) for one in things])
    if kind < 0.7:
        return hostile.index(random, len(things))
    if kind < 0.8:
        return pa.array([str(one) for one in things])
    return random.choice((list, tuple))(things)


def _one_group(method):
    def called(name):
        def asked(world, random):
            made = random.choice(world.rules_with(name))
            queues = _as_given(random, QUEUES) if random.random() < 0.6 else QUEUES
            ids = _as_given(random, CLIENTS) if random.random() < 0.6 else CLIENTS
            if method == "assign":
                return lambda: made.assign(queues, ids), ANY
            current = random.choice((*CLIENTS, "", "nobody", np.str_("x@1")))
            return lambda: made.allocate("g", current, queues, ids), ANY

        return asked

    return called


def _sorted_allocate(world, random):
    made = random.choice([made for _, made in world.rules])
    queues, ids = _as_given(random, QUEUES), _as_given(random, CLIENTS)
    return lambda: sorted_allocate(made, "g", "x@1", queues, ids), ANY


def _by_client(world, random):
    queues = _as_given(random, QUEUES)
    return lambda: SharedAssignment.by_client(strategy("AVG"), queues, CLIENTS), ANY


# --- Scenarios ---


def _hostile_rules(world, random):
    fleet = ordered(random.choice(world.known).fleet)
    good = world.rules_of(fleet).of_unit
    return fleet, Rules((strategy("AVG"), strategy("STABLE")), hostile.numbers_like(random, good))


def _apply(world, random):
    fleet, rules = _hostile_rules(world, random)
    scenario = random.choice(SCENARIOS)

    def ask():
        after = apply(scenario, fleet, rules)
        for made, units in after.rules.by_strategy():
            made.assign_fleet(after.fleet.select(units), on_error="report")
        return said(after.fleet) and None

    return ask, ANY


def _rules(world, random):
    _, rules = _hostile_rules(world, random)
    return (
        lambda: [(made.get_name(), units.tolist()) for made, units in rules.by_strategy()] and None,
        ANY,
    )


def _rules_select(world, random):
    rules = world.rules_of(world.known[0].fleet)
    index = hostile.index(random, 7)
    return lambda: rules.select(index).of_unit.tolist(), _right(
        by_numpy(rules.of_unit.tolist(), index)
    )


def _changed_fleet(world, random):
    fleet = ordered(world.known[0].fleet)
    good = apply(SCENARIOS[0], fleet, world.rules_of(fleet))
    given = [hostile.numbers_like(random, one) for one in (good.renamed, good.units)]
    return lambda: Changed(good.fleet, given[0], good.rules, given[1]) and None, ANY


def _timeline(face):
    def called(world, random):
        rows = random.choice((hostile.odd, hostile.number))(random, 5)
        return lambda: face(world.simulated, rows) and None, ANY

    return called


def _lists_of(what):
    return lambda fleet: np.diff(getattr(fleet, what).offsets).tolist()


def _sizes(lists):
    return np.diff(lists.offsets).tolist()


_STRATEGY = "rmqalloc.strategies"
_METHODS = {
    "assign": ("base.Strategy", "config.Config", "_machine_room_nearby.MachineRoomNearby", "_pop.Pop"),
    "allocate": (
        "_averagely.Averagely", "_averagely.AveragelyByCircle", "base.Strategy", "_client_go._GoFunction", "config.Config",
        "config.ConfigByClient", "_machine_room_nearby.MachineRoomNearby", "_pop.Pop",
    ),
    "owner_of": ("base.Strategy", "config.ConfigByClient"),
    "explain": ("base.Strategy",),
    "assign_fleet": ("base.Strategy", "base.SharingStrategy"),
}  # fmt: skip
_MAKERS = {
    "assign": _one_group("assign"),
    "allocate": _one_group("allocate"),
    "owner_of": _queue("owner_of"),
    "explain": _queue("explain"),
    "assign_fleet": _assign_fleet,
}
_OF_STRATEGIES = {
    (name := f"{_STRATEGY}.{kind}.{method}"): _MAKERS[method](name)
    for method, kinds in _METHODS.items()
    for kind in kinds
}

FACES = _OF_STRATEGIES | {
    "rmqalloc.audit.findings.Findings.__getitem__": _finding,
    "rmqalloc.evaluation.expand.client_load": called_columns.batched_called(client_load),
    "rmqalloc.evaluation.expand.expand_owners": called_columns.batched_called(expand_owners),
    "rmqalloc.evaluation.expand.sum_loads": called_columns.sum_loads_called,
    "rmqalloc.evaluation.batch_planning.plan_batch": called_columns.plan_batch_called,
    "rmqalloc.evaluation.batch_planning.plan_stream": called_columns.plan_stream_called,
    "rmqalloc.fleet.columns.Strings.__getitem__": _string,
    "rmqalloc.fleet.columns.Strings.__init__": called_columns.strings_called,
    "rmqalloc.fleet.columns.Strings.take": _taken(
        lambda fleet: fleet.consumer_groups.to_list(),
        lambda fleet: fleet.consumer_groups.take,
        Strings.to_list,
    ),
    "rmqalloc.fleet.columns.Strings.to_list": _stretch,
    "rmqalloc.fleet.fleet.Fleet.__init__": called_columns.fleet_called,
    "rmqalloc.fleet.fleet.Fleet.client_ids_of": _unit("client_ids_of", lambda known: known.clients),
    "rmqalloc.fleet.fleet.Fleet.consumer_group": _unit(
        "consumer_group", lambda known: known.groups
    ),
    "rmqalloc.fleet.fleet.Fleet.from_arrow": called_columns.from_arrow_called,
    "rmqalloc.fleet.fleet.Fleet.names_of": _unit(
        "names_of", lambda known: list(zip(known.groups, known.topics, strict=True))
    ),
    "rmqalloc.fleet.fleet.Fleet.queues_of": _unit("queues_of", lambda known: known.queues),
    "rmqalloc.fleet.fleet.Fleet.select": _select,
    "rmqalloc.fleet.fleet.Fleet.shares_memory": _shares_memory,
    "rmqalloc.fleet.fleet.Fleet.to_arrow": _to_arrow,
    "rmqalloc.fleet.fleet.Fleet.topic": _unit("topic", lambda known: known.topics),
    "rmqalloc.fleet.lists.ClientLists.__init__": called_columns.client_lists_called,
    "rmqalloc.fleet.lists.ClientLists.taken": _taken(
        _lists_of("client_lists"), lambda fleet: fleet.client_lists.taken, _sizes
    ),
    "rmqalloc.fleet.lists.QueueLists.__init__": called_columns.queue_lists_called,
    "rmqalloc.fleet.lists.QueueLists.taken": _taken(
        _lists_of("queue_lists"), lambda fleet: fleet.queue_lists.taken, _sizes
    ),
    "rmqalloc.model.Assignment.__new__": _assignment,
    "rmqalloc.model.SharedAssignment.by_client": _by_client,
    "rmqalloc.plans.plan_totals.client_totals": called_columns.client_totals_called,
    "rmqalloc.rebalance.allocation.sorted_allocate": _sorted_allocate,
    "rmqalloc.report.formats.write_table": called_columns.write_table_called,
    "rmqalloc.scenarios.applied_changes.apply": _apply,
    "rmqalloc.scenarios.subfleet.Changed.__init__": _changed_fleet,
    "rmqalloc.scenarios.subfleet.Rules.__init__": _rules,
    "rmqalloc.scenarios.subfleet.Rules.select": _rules_select,
    "rmqalloc.simulation._timeline_svg.svg_timeline": _timeline(svg_timeline),
    "rmqalloc.simulation._result_text.text_timeline": _timeline(text_timeline),
}

ERRORS = (rmqalloc.Error, IndexError, TypeError, ValueError)
ALSO = {"rmqalloc.evaluation.batch_planning.plan_batch": (KeyError,)}
"""Errors that are documented of one face."""
