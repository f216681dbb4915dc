"""Small commands beside what Python takes to import numpy and pyarrow."""

from collections.abc import Iterator
from pathlib import Path

from commands.course import RMQALLOC, Heat

SECTION, OF = "start", 0
HEADER = ("command", "wall", "spread", "CPU", "memory", "beside", "wall over it", "CPU over it")
_BOTH, _NUMPY = "import numpy, pyarrow", "import numpy"
_COMMANDS = {
    "plan": [*RMQALLOC, "plan", "-f", "example:seed", "--scale", "3"],
    "show": [*RMQALLOC, "show", "-f", "example:seed"],
    "check": [*RMQALLOC, "check", "-f", "example:seed"],
}
_OURS = "from rmqalloc import Fleet, strategy"


def heats(size: int, folder: Path) -> Iterator[Heat]:
    """Yield the one heat, which needs no size and no files."""
    del size, folder
    imports = {name: ["-c", name] for name in (_BOTH, _NUMPY, _OURS)}
    pairs = [*((name, _BOTH) for name in _COMMANDS), (_OURS, _NUMPY)]
    yield Heat("example:seed", (), {**imports, **_COMMANDS}, pairs, lambda: None)
