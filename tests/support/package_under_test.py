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

IN_PLACE = ROOT / "rmqalloc/_engine/compiled-from.sha256"
"""Written by setup.py where it compiles in place."""

INSTALLED = Path(sys.prefix) / "installed"
"""Written by ``make install`` into the environment of the wheel."""

HERE = ROOT.resolve()
LOOP = "make dev && .venv-dev/bin/pytest ...   (make test builds the wheel and tests it)"
IS_CHECKOUT = (ROOT / ".git").exists()


def problem():
    """What is wrong with the package under test, with what to run; None if it is the one meant."""
    imported = imported_from()
    of_wheel = os.environ.get("RMQALLOC_WHEEL_OF")
    if of_wheel and Path(of_wheel).resolve() == HERE:
        meant, run = f"the wheel of {ROOT}, installed in {sys.prefix}", "make install"
        wrong = _wrong_wheel(imported)
    else:
        meant, run = f"{ROOT / 'rmqalloc'}, the checkout", LOOP
        wrong = _wrong_checkout(imported)
    if wrong is None:
        return None
    found = imported / "rmqalloc" if imported else "nothing"
    return f"this is not the rmqalloc to test: {wrong}\n  imported: {found}\n  meant:    {meant}\n  run:      {run}"


def imported_from():
    """The folder that Python would import the package from; the package is not imported."""
    spec = importlib.util.find_spec("rmqalloc")
    return Path(spec.origin).resolve().parents[1] if spec and spec.origin else None


def digests():
    """A line with the digest of every file that decides what is compiled."""
    sources = sorted(path for path in (ROOT / "pyx").rglob("*") if path.is_file())
    return [
        f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT).as_posix()}"
        for path in [ROOT / "setup.py", *sources]
    ]


def not_compiled(noted):
    """What of ``pyx/`` is not compiled as it is now, by the digests noted at the last build; None
    if all is.
    """
    if not noted.exists():
        return "it is not known what its modules are compiled from"
    changed = {*noted.read_text(encoding="utf-8").splitlines()} ^ {*digests()}
    names = sorted({line.partition("  ")[2] for line in changed})
    return f"changed since its modules were compiled: {', '.join(names)}" if names else None


def _wrong_checkout(imported):
    if imported != HERE:
        return "an edit of the checkout would not be tested"
    if not IS_CHECKOUT:
        return None
    for kernel in (ROOT / "pyx").glob("*.pyx"):
        if not (ROOT / f"rmqalloc/_engine/{kernel.stem}{EXTENSION_SUFFIXES[0]}").exists():
            return f"not compiled in place: {kernel.stem}"
    return not_compiled(IN_PLACE)


def _wrong_wheel(imported):
    if imported is None or Path(sys.prefix).resolve() not in imported.parents:
        return "it is not installed in this environment"
    changed = python_files(ROOT) ^ python_files(imported)
    if changed:
        return f"not as in the checkout: {', '.join(sorted({name for name, _ in changed}))}"
    return not_compiled(INSTALLED) if IS_CHECKOUT else None


def python_files(folder):
    """Name and digest of every Python file of both packages."""
    return {
        (path.relative_to(folder).as_posix(), sha256(path.read_bytes()).hexdigest())
        for package in ("rmqalloc", "spark_udfs")
        for path in (folder / package).rglob("*.py")
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["digests"]:
        print("\n".join(digests()))
    elif _wrong_checkout(HERE):
        sys.exit(1)
