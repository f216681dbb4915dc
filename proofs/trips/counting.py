"""Count what one route enters: ``python -m trips.counting TREE ARGUMENT ...`` counts a command line
twice and prints JSON.

Call
    A Python function defined in ``rmqalloc`` begins, a lambda as well. A generator or coroutine is
    one call, when it begins; that it goes on after a ``yield`` is none. Comprehensions and
    generator expressions are part of the function around them. Bodies of modules and classes are no
    functions, and what runs while a module is imported does not count. Nor do compiled kernels,
    other packages and other threads. A first run, which imports and keeps what any later one has,
    is not counted.
File
    A source file below ``rmqalloc/`` in which a counted call arrives.
Room
    The first folder below ``rmqalloc/``. Files beside the folders (``model.py``, ``lazy.py``) are
    in no room: calls of their functions count, and what they call is called by the room that called
    them.
Change
    A call into a room whose nearest caller that stands in a room stands in another one. That a call
    ends is no change.
Return
    A change to a room that was entered before, and so left for another one since.
"""

import contextlib
import inspect
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

PART_OF_A_FUNCTION = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Trip:
    """What one run of an action enters; `package` is the folder whose files count."""

    def __init__(self, package: Path) -> None:
        self.calls = self.changes = self.returns = self._importing = 0
        self.files, self.rooms = set[str](), set[str]()
        self._package, self._places, self._begins = (
            package,
            dict[str, tuple[bool, str | None]](),
            dict[CodeType, int](),
        )

    def count(self, action: Callable[[], object]) -> dict[str, int]:
        """Run an action twice, the second time under the profiler, and return the counts."""
        action()
        sys.setprofile(self._seen)
        try:
            action()
        finally:
            sys.setprofile(None)
        sizes = {"files": len(self.files), "calls": self.calls, "rooms": len(self.rooms)}
        return sizes | {"changes": self.changes, "returns": self.returns}

    def _place(self, file: str) -> tuple[bool, str | None]:
        """Whether a file counts, and its room."""
        if file not in self._places:
            inside = Path(file).is_relative_to(self._package)
            parts = Path(file).relative_to(self._package).parts if inside else ()
            self._places[file] = inside, parts[0] if len(parts) > 1 else None
        return self._places[file]

    def _begins_here(self, frame: FrameType) -> bool:
        """Whether it is no generator that goes on: the profiler is called then, too, further on in
        its code.
        """
        code = frame.f_code
        return not code.co_flags & RESUMED or frame.f_lasti <= self._begins.setdefault(
            code, frame.f_lasti
        )

    def _seen(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        if self._importing or event != "call" or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        counts, room = self._place(code.co_filename)
        if not counts or code.co_name in PART_OF_A_FUNCTION or not self._begins_here(frame):
            return
        caller = self._caller(frame.f_back)
        self.calls += 1
        self.files.add(code.co_filename)
        if room is not None and room != caller:
            self.changes += caller is not None
            self.returns += caller is not None and room in self.rooms
            self.rooms.add(room)

    def _caller(self, frame: FrameType | None) -> str | None:
        """The room of the nearest caller that stands in one."""
        while frame is not None and self._place(frame.f_code.co_filename)[1] is None:
            frame = frame.f_back
        return None if frame is None else self._place(frame.f_code.co_filename)[1]


def main() -> None:
    """Count a command line of rmqalloc twice in this process, and print both."""
    import rmqalloc
    from rmqalloc.cli import main as command

    tree, *arguments = sys.argv[1:]
    package = Path(rmqalloc.__file__).parent
    if package != Path(tree) / "rmqalloc":
        sys.exit(f"rmqalloc comes from {package}, not from {tree}")
    codes = set[int]()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        found = [Trip(package).count(lambda: codes.add(command(list(arguments)))) for _ in range(2)]
    if not codes <= {0, 2}:
        sys.exit(f"it ends with {sorted(codes)}: {said.getvalue()}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
