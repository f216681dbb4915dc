"""Is the rmqalloc that Python imports the one that the tests are meant for? Content decides, not
times of files.

Tests of a checkout mean the package in that checkout, with its modules compiled in place from
``pyx/`` as it is now. Where RMQALLOC_WHEEL_OF names the checkout, as the Makefile does, they mean
its wheel: installed beside them and built from these sources. A copy of the tree that is no
checkout (mutants, bounds checks) is compiled by the program that made it: what its modules are
compiled from is not looked at.

``python -m package_under_test``: 1 if the modules in place are to be compiled; with ``digests``
print the digests of what they are compiled from.
"""

import importlib.util
import os
import sys
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from checkout import ROOT

IN_PLACE = Path("rmqalloc/_engine/compiled-from.sha256")
"""Written by setup.py where it compiles in place."""

INSTALLED = "installed"
"""Written by ``make install`` into the environment of the wheel."""

LOOP = "make dev && .venv-dev/bin/pytest ...   (make test builds the wheel and tests it)"


def problem(root=ROOT, imported=None, environment=Path(sys.prefix)):
    """What is wrong with the package under test, with what to run; None if it is the one meant."""
    imported = imported or imported_from()
    of_wheel = os.environ.get("RMQALLOC_WHEEL_OF")
    if of_wheel and Path(of_wheel).resolve() == root.resolve():
        meant, run = f"the wheel of {root}, installed in {environment}", "make install"
        wrong = _wrong_wheel(root, imported, environment)
    else:
        meant, run = f"{root / 'rmqalloc'}, the checkout", LOOP
        wrong = _wrong_checkout(root, imported)
    if wrong is None:
        return None
    found = imported / "rmqalloc" if imported else "nothing"
    return f"this is not the rmqalloc to test: {wrong}\n  imported: {found}\n  meant:    {meant}\n  run:      {run}"


def imported_from():
    """The folder that Python would import the package from; the package is not imported."""
    spec = importlib.util.find_spec("rmqalloc")
    return Path(spec.origin).resolve().parents[1] if spec and spec.origin else None


def digests(root=ROOT):
    """Digest of every file that decides what is compiled, by name."""
    files = [
        root / "setup.py",
        *sorted(path for path in (root / "pyx").rglob("*") if path.is_file()),
    ]
    return {
        path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files
    }


def not_compiled(root, noted):
    """What of ``pyx/`` is not compiled as it is now, by the digests noted at the last build; None
    if all is.
    """
    try:
        lines = noted.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    if not lines:
        return "it is not known what its modules are compiled from"
    before = {name: digest for digest, name in (line.split("  ") for line in lines)}
    changed = sorted({name for name, _ in before.items() ^ digests(root).items()})
    return f"changed since its modules were compiled: {_few(changed)}" if changed else None


def _wrong_checkout(root, imported):
    if imported != root.resolve():
        return "an edit of the checkout would not be tested"
    if not _is_checkout(root):
        return None
    kernels = {path.stem for path in (root / "pyx").glob("*.pyx")}
    missing = {
        name
        for name in kernels
        if not (root / f"rmqalloc/_engine/{name}{EXTENSION_SUFFIXES[0]}").exists()
    }
    return (
        f"not compiled in place: {_few(sorted(missing))}"
        if missing
        else not_compiled(root, root / IN_PLACE)
    )


def _wrong_wheel(root, imported, environment):
    if imported is None or environment.resolve() not in imported.parents:
        return "it is not installed in this environment"
    changed = _changed_files(root, imported)
    if changed:
        return f"not as in the checkout: {_few(changed)}"
    return not_compiled(root, environment / INSTALLED) if _is_checkout(root) else None


def _changed_files(root, imported):
    """Python files of both packages that are not the same in both places."""
    names = {
        path.relative_to(place).as_posix()
        for place in (root, imported)
        for package in ("rmqalloc", "spark_udfs")
        for path in (place / package).rglob("*.py")
    }
    return sorted(name for name in names if _content(root / name) != _content(imported / name))


def _is_checkout(root):
    return (root / ".git").exists()


def _content(path):
    return path.read_bytes() if path.exists() else None


def _few(names, most=5):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def main():
    if sys.argv[1:] == ["digests"]:
        print("\n".join(f"{digest}  {name}" for name, digest in digests().items()))
        return 0
    return int(_wrong_checkout(ROOT, ROOT.resolve()) is not None)


if __name__ == "__main__":
    sys.exit(main())
