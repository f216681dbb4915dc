"""``rmqalloc guard``: may this client stop now."""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Choice, seconds
from rmqalloc.cli._closing_notes import forget_notes, note_after
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import ALL, Inputs
from rmqalloc.cli._live_options import Live
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import hand_over, say_lines
from rmqalloc.cli._snapshot_input import (
    known_by_options,
    snapshot_of,
    snapshot_options,
    strategy_known_option,
)
from rmqalloc.dataclass import dataclass
from rmqalloc.snapshot.snapshot import sources_entry

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.snapshot.snapshot import ReadSource, Snapshot
    from rmqalloc.watching.guard import GuardAnswer

_AFTER_WAIT = 120.0
_CODES = {"yes": exit_codes.DONE, "no": exit_codes.GATE, "unknown": exit_codes.PARTIAL}


@dataclass(frozen=True)
class _Stop:
    """What is asked."""

    target: str
    is_after: bool
    wait: float
    every: float


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@option("client", "target", more="; all matching clients stop together")
@click.option(
    "--wait",
    callback=seconds,
    metavar="TIME",
    help="Wait at most this long, such as 120s, until the previous change has settled "
    "(running cluster only).",
)
@click.option(
    "--after",
    "is_after",
    is_flag=True,
    help="After the stop, wait until the client has left and all queues have owners; without "
    "--client, only for the owners. Limit: --wait, or 120s.",
)
@option("every", more=" while waiting", callback=seconds, default="1s", show_default=True)
@option(
    "output",
    more=": one line with the answer and its reason, or a JSON document",
    type=Choice(("text", "json")),
    default="text",
    show_default=True,
)
def guard(
    inputs: Inputs,
    target: str | None,
    wait: float | None,
    is_after: bool,
    every: float,
    output: str,
) -> int:
    """Decide whether a client may stop now: yes (0), no with the reason (3), or unknown (4).

    \b
    rmqalloc guard -n 10.0.0.1:9876 -g order-svc -c 10.1.0.11@4121
    rmqalloc guard -n 10.0.0.1:9876 -g order-svc -c 10.1.0.11 --wait 120s
    rmqalloc guard -n 10.0.0.1:9876 -g order-svc -c 10.1.0.11 --after --wait 120s

    The answer is no while the previous change has not settled, or if some queues of the client
    would have no reader. For a file, the answer is unknown unless its fetched_at is at most 90
    seconds old.
    """
    if inputs.live is None and wait is not None:
        raise click.UsageError(
            "--wait reads a running cluster repeatedly: give -n HOST:PORT instead of -f"
        )
    if is_after and inputs.groups == ALL:
        raise click.UsageError(
            "--after needs the groups of the client, which no longer lists them: give -g GROUP"
        )
    if not is_after and not target:
        raise click.UsageError(
            "Missing option '--client': the client that is to stop, by id, address or host"
        )
    live = None if inputs.live is None else replace(inputs.live, lag=False)  # no lag decides
    inputs = replace(inputs, live=live, is_planned=False)
    asked = _Stop(
        target or "", is_after, (_AFTER_WAIT if is_after else 0.0) if wait is None else wait, every
    )
    sources: tuple[ReadSource, ...] = ()
    if live is None or not asked.wait:
        known = snapshot_of(inputs)
        answer, sources = _at_once(known, inputs, asked), known.given.sources
    else:
        answer = _waited(inputs, live, asked)
    if output == "json":
        document = answer.to_dict() | sources_entry(sources)
        hand_over(json.dumps(document, indent=1))
    else:
        say_lines(answer.lines(sys.stdout))
    return _CODES[answer.verdict]


def _at_once(known: Known, inputs: Inputs, asked: _Stop) -> GuardAnswer:
    """Return the answer of one look; that of a file is unknown unless its data are of now."""
    from rmqalloc.snapshot.data_time import taken_at, why_not_current
    from rmqalloc.watching.guard import has_left, may_stop

    answer = (has_left if asked.is_after else may_stop)(
        known, asked.target, inputs.groups, inputs.topics
    )
    why = None
    if inputs.live is None:
        why = why_not_current(taken_at(known.given), time.time())
    return answer.of_another_time(why) if why else answer


def _waited(inputs: Inputs, live: Live, asked: _Stop) -> GuardAnswer:
    """Return the answer that two readings give, or the last one when the time is over."""
    from rmqalloc.snapshot.live.rereading import ClusterReading, Rereader
    from rmqalloc.watching.guard import GuardWatch

    def know(snapshot: Snapshot) -> Known:
        known = known_by_options(snapshot, inputs)
        note_after(known, inputs)
        return known

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with Rereader(
            live.servers, inputs.groups, inputs.topics, every=asked.every, **live.how()
        ) as reader:

            def read() -> ClusterReading:
                forget_notes()  # an answer has the notes of its own reading
                return reader.read()

            watch = GuardWatch(
                read,
                asked.target,
                inputs.groups,
                inputs.topics,
                know=know,
                every=asked.every,
            )
            return (watch.after_stop if asked.is_after else watch.before_stop)(asked.wait)
