"""Verification by replay: a saved plan is replanned from its inputs, and all of its file is
compared with that.

Its principles, the weightiest first:

1. One difference rejects: tables, gates, ways back, errors and warnings are all compared, to the
   letter.
2. What cannot be recomputed is named, and the answer then is not that all is equal.
3. What follows from nothing else is named as not verified: whoever writes a file with another gate
   or another name also writes its digest. Only the digest that was printed when the plan was saved
   tells such a file from the saved one.
4. What would take long is refused before it is worked on.

Replay finds files that were changed. A defect of the planner it repeats; that is for the proofs,
which plan by other code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import IO, Any

import numpy as np

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import DocumentError
from rmqalloc.documents.fields import FieldError
from rmqalloc.documents.records import record
from rmqalloc.errors import Error
from rmqalloc.evaluation.batch_sizes import Sizes
from rmqalloc.plans._gates import Gates
from rmqalloc.plans._plan import SEMANTICS, Plan, plain_column
from rmqalloc.plans._plan_files import PlanFile, read_plan_file
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans.plan_writing import PlanError, canonical
from rmqalloc.plans.replan import inputs_in, replanned
from rmqalloc.results.and_more import first_of
from rmqalloc.results.wrapping import wrapped
from rmqalloc.scenarios import Scenario, SetStrategy, SetVirtualNodes
from rmqalloc.snapshot.files import read
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.snapshot.units import batch_of, unit_pairs
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES
from rmqalloc.text import message
from rmqalloc.version import __version__

_MOST_SHOWN = 20
_MOST_LETTERS = 60


@dataclass(frozen=True)
class Verification:
    """The result of `verify`.

    Attributes
    ----------
    problems : tuple of str
        Why the plan is rejected.
    recomputed : tuple of str
        Parts that were recomputed and are equal; empty for a rejected plan.
    not_recomputed : tuple of str
        Parts that could not be recomputed, and why; empty for a rejected plan.
    not_verified : tuple of str
        Parts that only the file states; empty for a rejected plan.
    """

    problems: tuple[str, ...] = ()
    recomputed: tuple[str, ...] = ()
    not_recomputed: tuple[str, ...] = ()
    not_verified: tuple[str, ...] = ()

    @property
    def is_verified(self) -> bool:
        """True if every part of the plan that can be recomputed was recomputed and is equal."""
        return not self.problems and not self.not_recomputed

    def lines(self, file: IO[str] | None = None) -> Iterator[str]:
        """Yield the result as lines of text. Text from the file is always indented."""
        head = "not verified" if self.not_recomputed else "verified"
        yield "rejected" if self.problems else head
        stated = [", ".join(self.not_verified)] if self.not_verified else []
        named = {
            "problem": self.problems,
            "recomputed": self.recomputed,
            "not recomputed": self.not_recomputed,
            "not verified, because only the file states them": stated,
        }
        for what, texts in named.items():
            for text in texts:
                yield from wrapped(f"{what}: {message(text)}", file)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def verify(
    path: str | os.PathLike[str],
    snapshot: Snapshot | str | os.PathLike[str] | None = None,
) -> Verification:
    """Verify a saved plan by recomputing every value from its inputs.

    Parameters
    ----------
    path : path
        File that ``plan --out`` or `rmqalloc.plans.save_plan` wrote.
    snapshot : Snapshot or path, optional
        Snapshot that the plan was made from. If given, the inputs are compared with it.

    Raises
    ------
    OSError
        A file cannot be read.
    PlanError
        The file is not a plan, or the plan is larger than the replay limit; see
        `rmqalloc.plans._verification`.
    rmqalloc.snapshot.SnapshotError
        The snapshot cannot be read.

    Examples
    --------
    >>> import rmqalloc, tempfile
    >>> path = tempfile.mkdtemp() + "/plan.json"
    >>> rmqalloc.plan(rmqalloc.read("example:seed"), [{"name": "6", "changes": [{"scale_clients": {"to": 6}}]}]).save(path)
    >>> rmqalloc.verify(path).is_verified, rmqalloc.verify(path, snapshot="example:seed").recomputed[-1]
    (True, 'inputs: the part of the snapshot that the plan reads')
    """
    file = read_plan_file(path)
    taken = snapshot if isinstance(snapshot, Snapshot) or snapshot is None else read(str(snapshot))
    problems = [] if file.is_unchanged else ["its digest does not match its content"]
    try:
        inputs = file.plan.inputs if taken is None else inputs_in(file.plan, taken)
    except PlanError as error:
        return Verification((*problems, str(error)))
    return _replayed(file, inputs, problems, taken is not None)


def _replayed(
    file: PlanFile,
    inputs: PlanInputs,
    problems: list[str],
    with_snapshot: bool,
) -> Verification:
    """Return the answer where the plan can be recomputed."""
    plan, is_ours = file.plan, file.plan.semantics == SEMANTICS
    try:
        check_size(inputs, plan.scenarios)
        again = replanned(plan, inputs)
    except PlanError:
        raise
    except Error as error:
        text = f"its inputs cannot be planned: {error}"
        return (
            Verification((*problems, text))
            if problems or is_ours
            else Verification((), (), (text,))
        )
    again = replace(
        again, tool_version=plan.tool_version, gates=plan.gates, semantics=plan.semantics
    )
    found = [*_differences(file, again), *_gates_broken(plan.gates, again)]
    if found and (is_ours or problems):
        return Verification((*problems, *first_of(found, _MOST_SHOWN)))
    if problems:
        return Verification(tuple(problems))
    stated = tuple(_stated(plan, with_snapshot))
    open_ends: tuple[str, ...] = ()
    if not is_ours:
        open_ends = (f"semanticsVersion: {_made_by(file)}; this is {SEMANTICS}",)
    elif plan.tool_version != __version__:
        open_ends = (f"toolVersion: {_made_by(file)}; this is {__version__}",)
    if found:
        return Verification((), (), (*open_ends, *first_of(found, _MOST_SHOWN)), stated)
    return Verification((), tuple(_done(again, file, with_snapshot)), open_ends, stated)


def _made_by(file: PlanFile) -> str:
    plan, version = file.plan, file.data["apiVersion"]
    return f"made by rmqalloc {plan.tool_version} ({version}, semantics {plan.semantics})"


def _done(again: Plan, file: PlanFile, with_snapshot: bool) -> list[str]:
    """Return what was recomputed."""
    plan = file.plan
    rows = ", ".join(f"{name} {getattr(again, name).num_rows:,}" for name in again.TABLES)
    done = [
        f"content: its digest {file.data['digest'][:12]}",
        f"tables: {rows} rows",
        f"warnings and errors: {len(plan.warnings):,} warnings",
    ]
    if plan.gates:
        gates = [f"{name} {value}" for name, value in plan.gates.items()]
        done.append(f"gates: {', '.join(gates)} hold")
    if plan.scenarios:
        done.append(f"ways back: of {len(plan.scenarios)} scenario(s)")
    if with_snapshot:
        done.append("inputs: the part of the snapshot that the plan reads")
    return done


def _stated(plan: Plan, with_snapshot: bool) -> Iterator[str]:
    """Yield what nothing but the file shows."""
    yield f"gates ({', '.join(plan.gates) or 'none'})"
    yield from ("scenarios", "toolVersion")
    yield "inputs.groups and inputs.topics" if with_snapshot else "inputs"


def _gates_broken(gates: Mapping[str, Any], again: Plan) -> Iterator[str]:
    """Yield gates that are none, and groups that do not keep them."""
    try:
        read_gates: Gates = record(Gates).read(gates)
    except (FieldError, DocumentError) as error:
        yield f"gates: {error}"
        return
    if canonical(read_gates.to_data()) != canonical(dict(gates)):
        yield "gates are not in rmqalloc's format"
    yield from (f"gate not kept: {broken}" for broken in read_gates.broken(again))


def _differences(file: PlanFile, again: Plan) -> Iterator[str]:
    """Yield what stands in the file otherwise than it is recomputed."""
    made = again.parts()
    given = {name: part for name, part in file.data.items() if name != "digest"}
    for name in sorted((made.keys() | given.keys()) - {"tables"}):
        if (text := canonical(given.get(name))) != (right := canonical(made.get(name))):
            at = next(
                (i for i, (a, b) in enumerate(zip(text, right, strict=False)) if a != b),
                min(len(text), len(right)),
            )
            yield f"{name} differs: {_around(text, at)}, expected {_around(right, at)}"
    for name in again.TABLES:
        yield from _columns_differing(name, file, again)


def _around(text: str, at: int) -> str:
    start = max(0, at - _MOST_LETTERS // 2)
    return text[start : start + _MOST_LETTERS]


def _columns_differing(name: str, file: PlanFile, again: Plan) -> Iterator[str]:
    table, right = getattr(file.plan, name), getattr(again, name)
    for column in right.column_names:
        if canonical(file.data["tables"][name].get(column)) == canonical(
            plain_column(right[column])
        ):
            continue
        if table.num_rows != right.num_rows:
            yield f"{name} has {table.num_rows:,} rows, expected {right.num_rows:,}"
            return
        pairs = zip(table[column].to_pylist(), right[column].to_pylist(), strict=True)
        row = next(((i, a, b) for i, (a, b) in enumerate(pairs) if repr(a) != repr(b)), None)
        where = (
            ""
            if row is None
            else f" in row {row[0]}: {row[1]!r:.{_MOST_LETTERS}}, expected {row[2]!r:.{_MOST_LETTERS}}"
        )
        yield f"{name}.{column} does not follow from the inputs{where}"


# How much a plan's file may ask to be planned again, counted before anything is.
#
# A file of a few bytes can claim brokers with millions of queues or rings with millions of points.
# What a plan that was written can hold is far below these limits, for its tables have a row for every
# queue and client of every state.

MOST_QUEUES = 1 << 22
"""Queues of all units in all states together."""

MOST_CLIENTS = 1 << 22
"""Clients of all units in all states together."""

MOST_POINTS = 1 << 25
"""Points of all rings in all states together."""


def check_size(inputs: PlanInputs, scenarios: Sequence[Scenario]) -> None:
    """Raise `PlanError` if there is more to plan than is replayed.

    Examples
    --------
    >>> from rmqalloc.snapshot import Group, Snapshot, Topic, TopicBroker
    >>> large = Topic("T", (TopicBroker("b", 1 << 23),))
    >>> check_size(PlanInputs(Snapshot((large,), (Group("g", ("T",), strategy="AVG"),))), [])
    Traceback (most recent call last):
    rmqalloc.plans.plan_writing.PlanError: the plan may have 8,388,608 queues in all states; at most 4,194,304 are replayed
    """
    read = unit_pairs(inputs.snapshot, inputs.groups, inputs.topics, inputs.with_retry)
    batch = batch_of(read.pairs)
    sizes, n_states = Sizes.of(batch, scenarios), 1 + len(scenarios)
    clients = sizes.clients.astype(np.float64) * n_states
    known_nodes = batch.column("virtual_nodes").fill_null(DEFAULT_VIRTUAL_NODES)
    nodes = np.array(known_nodes.to_numpy(zero_copy_only=False))
    changes = chain.from_iterable(scenario.changes for scenario in scenarios)
    most_set = max(map(_nodes_set, changes), default=0)
    n_points = float((clients * np.maximum(nodes, most_set)).sum())
    limits = (
        ("queues", float(sizes.all_queues.sum()), MOST_QUEUES),
        ("clients", float(clients.sum()), MOST_CLIENTS),
        ("points of rings", n_points, MOST_POINTS),
    )
    for what, n, most in limits:
        if n > most:
            raise PlanError(
                f"the plan may have {n:,.0f} {what} in all states; at most {most:,} are replayed"
            )


def _nodes_set(change: object) -> int:
    """Return virtual nodes that a change gives."""
    if isinstance(change, SetVirtualNodes):
        return change.virtual_nodes
    params = change.params or {} if isinstance(change, SetStrategy) else {}
    nodes = params.get("virtual_nodes", 0)
    return nodes if isinstance(nodes, int) else 0
