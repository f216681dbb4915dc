"""Make the environments of `make plan` and `make test`, and say what is being done meanwhile.

    python tests/support/environments.py check                           # Java, Python and a compiler; installs nothing
    python tests/support/environments.py packages .venv-run cli,spark    # an environment and what rmqalloc[cli,spark] needs
    python tests/support/environments.py checkout .venv-run              # rmqalloc itself, from the checkout
    python tests/support/environments.py wheel .venv build/wheel         # sdist, the wheel from the sdist, and that installed

The standard library alone: it runs on the Python of the machine, before there is an environment.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOG_TAIL = 30

FREE_GB = 4
"""From a bare clone and empty caches `make plan` takes 2.9 GB at its peak, `make test` 3.7 GB."""

STORED = "[bdist_wheel]\ncompression = stored\n"
"""PySpark comes as source alone, and its wheel is unpacked at once: compressing 400 MB of jars would be lost work."""


class StepError(Exception):
    """A step failed; the message says what to do."""


def java() -> ModuleType:
    """The rule of which Java fits, loaded by path: importing its package would need numpy."""
    spec = importlib.util.spec_from_file_location(
        "java_rule", ROOT / "spark_udfs" / "_java_rule.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems() -> Iterator[str]:
    """Everything that this machine lacks, each with what to install."""
    rule = java()
    if fault := rule.java_fault(
        rule.java_version(), None
    ):  # None: the newest Spark is what gets installed
        yield f"{rule.java_needed(None)}, but {fault}. {rule.INSTALL_JAVA}"
    if importlib.util.find_spec("ensurepip") is None:
        yield "This Python makes no virtual environments. Install that part (Debian or Ubuntu: apt-get install python3-venv)"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        yield (
            f"The kernels are compiled, but there is no C compiler {compiler}. Install one (Debian or Ubuntu: apt-get "
            "install gcc libc6-dev; Fedora: dnf install gcc; macOS: xcode-select --install) or name one in CC"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        yield (
            "Python's C headers are missing. Install them (Debian or Ubuntu: apt-get install python3-dev; "
            "Fedora: dnf install python3-devel)"
        )


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say on standard error what is being done, and then how long it took."""
    print(f"{text} ...", end=" ", file=sys.stderr, flush=True)
    begun = time.monotonic()
    try:
        yield
    except BaseException:
        print("failed", file=sys.stderr)
        raise
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)


class Environment:
    """A virtual environment and the log of what is done to it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "install.log"
        self.python = folder / "bin" / "python"

    def run(self, *command: object) -> bool:
        """Run a command with its output in the log; return whether it succeeded."""
        settings = self.folder / "stored.cfg"
        settings.write_text(STORED, encoding="utf-8")
        environment = {**os.environ, "DIST_EXTRA_CONFIG": str(settings.resolve())}
        with self.log.open("ab") as log:
            done = subprocess.run(
                list(map(str, command)),
                stdout=log,
                stderr=log,
                env=environment,
                cwd=ROOT,
                check=False,
            )
        return done.returncode == 0

    def install(self, *arguments: str) -> None:
        """Install by uv, and by pip where uv cannot be had or fails, as it does with an index that
        only pip is set up for.
        """
        is_done = self.run(self.python, "-m", "uv", "pip", "install", *arguments)
        self.require(
            is_done or self.run(self.python, "-m", "pip", "install", "--no-compile", *arguments)
        )

    def require(self, done: bool) -> None:
        """Raise an error with the end of the log unless a step is done."""
        if not done:
            tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL:]
            hint = f"The whole log is in {self.log}. Run the command again once the cause is gone."
            raise StepError("\n".join([*tail, hint]))

    def add_packages(self, extras: list[str]) -> None:
        """Make the environment and install what rmqalloc and its extras depend on, and what it is
        built with.
        """
        if not self.python.exists():
            free = shutil.disk_usage(ROOT).free / 1e9
            if free < FREE_GB:
                raise StepError(
                    f"{ROOT} has {free:.2f} GB of disk free; {FREE_GB} GB are needed. Make room and run it again"
                )
            with step(f"making {self.folder}"):
                shutil.rmtree(self.folder, ignore_errors=True)
                subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
                self.run(
                    self.python, "-m", "pip", "install", "--no-compile", "uv"
                )  # four times as fast; pip does it, too
        pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        needed = [
            *pyproject["build-system"]["requires"],
            *dependencies(pyproject["project"], extras),
        ]
        with step(
            f"installing what rmqalloc[{','.join(extras)}] needs, PySpark above all: a download of 500 MB"
        ):
            self.install(*needed)
            # Where the index does not say how long its answers are valid, uv builds PySpark for each environment and
            # keeps each build in its cache: 1.9 GB that nothing reads again.
            self.run(self.python, "-m", "uv", "cache", "prune")

    def add_checkout(self) -> None:
        """Build rmqalloc in the checkout and install it; what was compiled before and has not
        changed is kept.
        """
        for path in (ROOT / "build").glob("lib.*/**/*"):
            if path.is_file() and path.suffix not in (".so", ".dylib"):
                path.unlink()  # setuptools would put modules that are gone from the checkout into the wheel
        # Isolated, Cython would be unpacked for each build, and so be newer than everything that
        # was compiled before.
        with step("compiling and installing rmqalloc, the first time 40 s of processor time"):
            self.install("--no-build-isolation", "--no-deps", "--force-reinstall", str(ROOT))

    def add_wheel(self, folder: Path) -> None:
        """Build the sdist, the wheel from the sdist, and install the wheel: what ships."""
        with step("building the sdist and the wheel, the first time 40 s of processor time"):
            shutil.rmtree(folder, ignore_errors=True)
            self.require(
                self.run(
                    self.python, "-m", "build", "--no-isolation", "--outdir", folder.resolve(), ROOT
                )
            )
        [wheel] = folder.glob("*.whl")
        with step(f"installing {wheel.name}"):
            self.install("--no-deps", "--force-reinstall", str(wheel))


def dependencies(project: dict[str, Any], extras: list[str]) -> list[str]:
    """List what a project and its extras depend on; an extra may name others of the same project."""
    found = list(project["dependencies"])
    for extra in extras:
        for one in project["optional-dependencies"][extra]:
            own = re.fullmatch(rf"{project['name']}\[(.*)\]", one)
            found += dependencies(project, own[1].split(",")) if own else [one]
    return list(dict.fromkeys(found))


def main(verb: str, folder: str = "", more: str = "") -> int:
    """Do one of the four, and end with 1 if it failed."""
    if verb == "check":
        found = list(problems())
        print("\n".join(found), end="\n" if found else "", file=sys.stderr)
        return bool(found)
    environment = Environment(Path(folder))
    try:
        if verb == "packages":
            environment.add_packages(more.split(","))
        elif verb == "wheel":
            environment.add_wheel(Path(more))
        else:
            environment.add_checkout()
    except StepError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
