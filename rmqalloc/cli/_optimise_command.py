"""``rmqalloc optimise``: the best ways to carry out a change, and a runbook of one of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Amount, Choice, Command, Count, TextType, bundle, read_by
from rmqalloc.cli._command_groups import Suggesting
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import doubt_code
from rmqalloc.cli._options import file_to_write, informed_by_option
from rmqalloc.cli._planning import tell_broken
from rmqalloc.cli._sink import print_notes
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_options
from rmqalloc.cli._table_options import TableOptions, table_options
from rmqalloc.store import write_file
from rmqalloc.strategies.spelled import labels_of

SHOWN = ("front", "searches", "runbook")

_BOUNDED = ("unowned", "double_owned", "moves", "idle", "duration", "batches", "load")
"""Goals that have an option for a bound."""

_MOST_NUMBERS = 100_000


@click.group(cls=Suggesting)
def optimise() -> None:
    """Search for the best ways to carry out a change of consumer groups, each group on its own.

    Every way is replayed step by step. Shown are those that no other betters in one goal without
    being worse in another, and a runbook of the first: the smallest first goal, of these the
    smallest second one, and so on. A figure such as ≤ 62 is an upper bound.
    """


class _NumberRanges(TextType):
    """Numbers such as ``4-12`` or ``8,16,32``."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the numbers."""
        if not isinstance(value, str):
            return value
        found: list[int] = []
        for part in value.split(","):
            first, dash, last = part.strip().partition("-")
            ends = [first, last if dash else first]
            if not all(one.isascii() and one.isdigit() and len(one) < 10 for one in ends):
                self.fail(
                    f"{value!r} is not N, N-N, or several of these with commas between them",
                    param,
                    ctx,
                )
            low, high = map(int, ends)
            if not 1 <= low <= high or high - low >= _MOST_NUMBERS:
                self.fail(
                    f"{part!r} must go up from 1 or more, to at most {_MOST_NUMBERS:,} numbers",
                    param,
                    ctx,
                )
            found += range(low, high + 1)
        return tuple(found)


@dataclass(frozen=True)
class _Options:
    """Options that all kinds of change share, as given."""

    tables: TableOptions
    goal: str
    batches: tuple[int, ...] | None
    step_seconds: float
    informed_by: str
    evaluations: int
    seed: int
    show: str | None
    out: str | None
    bounds: dict[str, float]

    def run(self, inputs: Inputs, **change: Any) -> int:
        """Search, print what is asked for; gives the exit code."""
        import rmqalloc

        known = snapshot_of(inputs)
        found = rmqalloc.optimise(
            known,
            inputs.groups,
            goals=_goals(self.goal),
            bounds=self.bounds,
            batches=self.batches or (),
            topics=inputs.topics,
            step_seconds=self.step_seconds,
            informed_by=self.informed_by,
            evaluations=self.evaluations,
            seed=self.seed,
            **change,
        )
        print_notes(found.warnings)
        self.tables.show(
            found, self.show, found.lines(sys.stdout, self.tables.top, runbook=self.out is None)
        )
        if self.out is not None:
            write_file(self.out, found.markdown())
            print_notes([f"runbook saved: {self.out}"])
        tell_broken(list(found.missed.values()))
        return doubt_code(known, inputs) or (exit_codes.GATE if found.missed else 0)


def _goals(text: str) -> tuple[str, ...]:
    from rmqalloc.optimisation.goals import goals_named

    return goals_named(one.strip() for one in text.split(","))


def _shared(command: Command) -> Command:
    """Add the snapshot and all that the kinds of change share; the command gets ``inputs`` and
    ``options``.
    """

    options: list[Any] = [table_options("; as text 20 ways of each group"), *reversed(_SHARED)]
    names = [name for name in _Options.__dataclass_fields__ if name != "bounds"]
    made = bundle(
        "options", _options, options, command, [*names, *(f"max_{name}" for name in _BOUNDED)]
    )
    return snapshot_options(strategy_known_options()(made))


def _options(**given: Any) -> _Options:
    bounds = {name: given.pop(f"max_{name}") for name in _BOUNDED}
    return _Options(
        bounds={name: most for name, most in bounds.items() if most is not None}, **given
    )


_SHARED = (
    click.option(
        "--goal",
        default="unowned,moves,duration",
        show_default=True,
        metavar="NAME,...",
        callback=read_by(_goals),
        help="What to keep small, the first before all others in what is suggested: moves, idle, unowned, double-owned, "
        "unowned-seconds, unowned-queue-seconds, duration, batches, load, clients, queues.",
    ),
    *(
        click.option(
            f"--max-{name.replace('_', '-')}",
            type=Amount(0),
            metavar="X",
            help=f"Most of the goal {name.replace('_', '-')}.",
        )
        for name in _BOUNDED
    ),
    click.option(
        "--batches",
        type=_NumberRanges(),
        metavar="N-N,...",
        help="Sizes of a batch to choose from; all by default.",
    ),
    informed_by_option,
    click.option(
        "--step-seconds",
        type=Amount(0),
        default=60.0,
        show_default=True,
        metavar="S",
        help="What one step takes, for the goal duration.",
    ),
    click.option(
        "--evaluations",
        type=Count(1),
        default=2000,
        show_default=True,
        metavar="N",
        help="Most ways of a group to evaluate; if there are no more, the answer is exact.",
    ),
    click.option(
        "--seed", type=Count(0), default=0, show_default=True, help="Another seed, another search."
    ),
    click.option(
        "--show",
        type=Choice(SHOWN),
        help="Which table: the best ways, how far each group was searched, or the steps of the runbook. Without it, the best "
        "ways and the runbook as text, or the best ways for programs.",
    ),
    click.option(
        "--out", metavar="FILE", callback=file_to_write, help="Save the runbook as Markdown."
    ),
)


@optimise.command()
@_shared
@click.option(
    "--surge/--no-surge",
    default=None,
    help="New clients join before the old ones leave; by default both are tried.",
)
@click.option("--stable-ids", is_flag=True, help="Clients come back under their ids.")
@click.option(
    "--new-addresses", is_flag=True, help="Clients come back from other addresses, as pods do."
)
def restart(
    inputs: Inputs, options: _Options, surge: bool | None, stable_ids: bool, new_addresses: bool
) -> int:
    """Restart all clients: in which batches, in which order, with or without a surge.

    \b
    rmqalloc optimise restart -f cluster.yaml -g order-svc --goal moves,duration --max-unowned 40
    --out runbook.md
    """
    if stable_ids and (new_addresses or surge):
        other = "--new-addresses" if new_addresses else "--surge"
        raise click.UsageError(
            f"--stable-ids and {other} contradict each other: a new client needs an id of its own"
        )
    ids = "stable" if stable_ids else "address" if new_addresses else "suffix"
    return options.run(inputs, restart=True, ids=ids, surge=surge)


@optimise.command()
@_shared
@click.option(
    "--to", type=Count(1), required=True, metavar="N", help="Clients of every group in the end."
)
def scale(inputs: Inputs, options: _Options, to: int) -> int:
    """Add clients or take some away: which ones leave, in which batches.

    \b
    rmqalloc optimise scale -f cluster.yaml -g order-svc --to 6
    """
    return options.run(inputs, clients=(to,))


@optimise.command()
@_shared
@click.option(
    "--to", required=True, metavar="S", help="The strategy to come, such as CONSISTENT_HASH:160."
)
def strategy(inputs: Inputs, options: _Options, to: str) -> int:
    """Take every group over to another strategy: in which batches, in which order.

    \b
    rmqalloc optimise strategy -f cluster.yaml -g order-svc --to CONSISTENT_HASH:160
    """
    return options.run(inputs, strategies=(to,))


@optimise.command()
@_shared
@click.option(
    "--clients", type=_NumberRanges(), metavar="N-N,...", help="Numbers of clients, such as 4-12."
)
@click.option(
    "--queues",
    type=_NumberRanges(),
    metavar="N-N,...",
    help="Numbers of queues on each broker, such as 8,16,32; with -t TOPIC.",
)
@click.option("--strategies", metavar="S,...", help="Strategies, such as AVG,CONSISTENT_HASH:160.")
@click.option("--assume-drained", is_flag=True, help="Take a backlog that is not known for none.")
def numbers(
    inputs: Inputs,
    options: _Options,
    clients: tuple[int, ...] | None,
    queues: tuple[int, ...] | None,
    strategies: str | None,
    assume_drained: bool,
) -> int:
    """Choose the numbers of clients and of queues, and the strategy, with the way there.

    \b
    rmqalloc optimise numbers -f cluster.yaml -g order-svc --clients 4-12 --strategies
    AVG,CONSISTENT_HASH:160 --goal load,moves
    """
    if not (clients or queues or strategies):
        raise click.UsageError(
            "there is nothing to choose; give --clients, --queues or --strategies"
        )
    if queues and (len(inputs.topics) != 1 or inputs.topics == ("*",)):
        raise click.UsageError("--queues is for one topic: -t TOPIC")
    labels = labels_of(strategies) if strategies else ()
    return options.run(
        inputs,
        clients=clients or (),
        queues=queues or (),
        strategies=labels,
        assume_drained=assume_drained,
    )
