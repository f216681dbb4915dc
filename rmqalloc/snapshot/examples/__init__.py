"""Examples that come with rmqalloc: snapshots, scenarios and scripts of simulations, by name.

The command line reads them as ``example:NAME`` wherever it reads such a file, and ``rmqalloc
example`` lists and prints them.
"""

from pathlib import Path

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import Error
from rmqalloc.text import did_you_mean, printable

__all__ = ["EXAMPLES", "PREFIX", "Example", "ExampleError", "find"]

PREFIX = "example:"
_FOLDER = Path(__file__).parent


class ExampleError(Error, ValueError):
    """There is no example of a name, or it is of another kind; the message lists those there are."""


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes
    ----------
    name : str
    kind : {"snapshot", "scenarios", "simulation"}
    file : str
        Its path below this folder.
    shows : str
        What it is, in a line.
    """

    name: str
    kind: str
    file: str
    shows: str

    @property
    def path(self) -> Path:
        """Where its file is."""
        return _FOLDER / self.file


_ALL = (
    Example(
        "seed",
        "snapshot",
        "snapshots/seed.yaml",
        "24 queues, four clients: one group under two strategies",
    ),
    Example(
        "orders",
        "snapshot",
        "snapshots/orders.yaml",
        "two brokers in two machine rooms, three topics, three groups",
    ),
    Example(
        "duplicate-id",
        "snapshot",
        "snapshots/duplicate-id.yaml",
        "two containers with one client id",
    ),
    Example(
        "48-pods",
        "snapshot",
        "snapshots/48-pods.yaml",
        "48 pods on 192 queues, for rolling restarts",
    ),
    Example(
        "live",
        "snapshot",
        "snapshots/live.json",
        "as `rmqalloc snapshot` read it from a running cluster",
    ),
    Example(
        "what-if",
        "scenarios",
        "scenarios/what-if.yaml",
        "more clients, fewer clients, a ring instead: three scenarios",
    ),
    Example(
        "three-deaths",
        "simulation",
        "simulations/three-deaths.yaml",
        "a client leaves, crashes, and vanishes",
    ),
    Example(
        "restart-avg",
        "simulation",
        "simulations/restart-avg.yaml",
        "eight clients restarted one by one, under AVG",
    ),
    Example(
        "restart-consistent-hash",
        "simulation",
        "simulations/restart-consistent-hash.yaml",
        "eight clients restarted one by one, under CONSISTENT_HASH",
    ),
    Example(
        "concurrent",
        "simulation",
        "simulations/concurrent.yaml",
        "a client joins, leaves and dies; with notices, without",
    ),
    Example(
        "ordered",
        "simulation",
        "simulations/ordered.yaml",
        "the same for consumers in order, under locks",
    ),
    Example(
        "broker-settings",
        "simulation",
        "simulations/broker-settings.yaml",
        "brokers with settings of their own",
    ),
    Example(
        "large",
        "simulation",
        "simulations/large.yaml",
        "a thousand clients on ten thousand queues, restarted",
    ),
)

EXAMPLES = {one.name: one for one in _ALL}
"""All examples by name."""


def find(name: str, kind: str | None = None) -> Example:
    """Return the example of a name.

    Parameters
    ----------
    name : str
        With or without ``example:`` before it.
    kind : str, optional
        What it has to be.

    Raises
    ------
    ExampleError
        There is none, or it is of another kind.

    Examples
    --------
    >>> find("example:seed").file
    'snapshots/seed.yaml'
    >>> find("sed", "snapshot")
    Traceback (most recent call last):
    rmqalloc.snapshot.examples.ExampleError: there is no example sed; did you mean seed? Examples of \
this kind (snapshot): seed, orders, duplicate-id, 48-pods, live
    """
    name = name.removeprefix(PREFIX)
    known = [one.name for one in EXAMPLES.values() if kind in (None, one.kind)]
    if name in known:
        return EXAMPLES[name]
    listed = f"Examples{f' of this kind ({kind})' if kind else ''}: {', '.join(known)}"
    if name in EXAMPLES:
        raise ExampleError(f"the example {name} is of the kind {EXAMPLES[name].kind}. {listed}")
    raise ExampleError(
        f"there is no example {printable(name)}{did_you_mean(name, known) or '.'} {listed}"
    )
