"""Damaged and hostile inputs: ``python -m fuzz [--quick] [--only PART] [--report FILE]``.

Files for every reader and frames and bodies of servers, changed by structure; raw requests and lines
to programs that run (``peers``); answers to members of a group that run (``member``); the same files and kernels
guided by coverage (``python -m fuzz.guided`` for more minutes). An input
may be read or end in the reader's own error; anything else is a fault. Histories (``history``),
damaged by byte and by value, are read within 256 MiB. Outputs of tools that are
damaged or contradict each other (``silence``): what is lost must be named.
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from proof import run_parts

from fuzz import member, peers, wire
from fuzz.guided.__main__ import guided
from fuzz.histories import histories
from fuzz.outcome import Outcome
from fuzz.readers import READERS
from fuzz.running import run
from fuzz.silence import silence

INPUTS, QUICK_INPUTS, SEED = 100_000, 400, 1
ATTACKS, QUICK_ATTACKS = 200_000, 2_000
COLUMNS = (
    "reader",
    "inputs",
    "read",
    "its own errors",
    "other errors",
    "slowest",
    "memory risen by",
)


def files(report, is_quick):
    """Give changed files to every reader, each in a process of its own."""
    told(report, ((run, (name, inputs(is_quick), SEED)) for name in READERS), is_quick)


def servers(report, is_quick):
    """Give changed frames and bodies to what reads the wire, some of them through a socket."""
    told(report, [(wire.run, (inputs(is_quick), SEED))], is_quick)


def hostile_peers(report, is_quick):
    """Send raw requests to a service and lines to the server of tools, a twentieth of the inputs."""
    arguments = (inputs(is_quick) // 20, SEED)
    told(report, [(peers.served, arguments), (peers.spoken, arguments)], is_quick)


def hostile_member(report, is_quick):
    """Run two members against servers that answer wrongly, beside right answers."""
    made = alone(member.attacked, (QUICK_ATTACKS if is_quick else ATTACKS, SEED))
    report.table(
        ("changed", "answers"), [*sorted(made.kinds.items()), ("all", sum(made.kinds.values()))]
    )
    report.table(("figure", "value"), made.figures.items())
    for text in made.faults[:20]:
        report.fault(text)


def inputs(is_quick):
    """How many inputs each reader gets."""
    return QUICK_INPUTS if is_quick else INPUTS


def told(report, runs, is_quick):
    """Run and report; the short form runs in this process, which is quicker."""
    report.head(COLUMNS)
    for called, arguments in runs:
        made = called(*arguments) if is_quick else alone(called, arguments)
        report.row(*cells(made))
        for text in made.tracebacks:
            report.fault(text)


def alone(called, arguments):
    """A run in a process of its own; one that dies is a traceback, too."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(called, *arguments).result()
        except BrokenProcessPool as error:
            name = str(arguments[0])
            return Outcome(name, INPUTS, {}, [f"{name}: {error}"], 0.0, b"", 0, b"")


def cells(made):
    """A row of the table."""
    errors = dict(made.errors)
    n_read, n_others = errors.pop("read", 0), errors.pop("traceback", 0)
    own = ", ".join(f"{name} {count:,}" for name, count in sorted(errors.items())) or "–"
    seconds, memory = f"{made.worst_seconds:.2f} s", f"{made.worst_memory / 2**20:,.0f} MiB"
    n_others = max(n_others, len(made.tracebacks))
    return made.name, made.inputs, n_read, own, n_others, seconds, memory


PARTS = {
    "files": files,
    "history": histories,
    "servers": servers,
    "peers": hostile_peers,
    "member": hostile_member,
    "silence": silence,
    "guided": guided,
}
QUICK = ("files", "history", "servers", "peers", "member", "silence")

if __name__ == "__main__":
    sys.exit(run_parts("fuzz", __doc__, PARTS, QUICK))
