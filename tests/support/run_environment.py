"""Make the environment of `make plan`: what running needs and no more, and say what is being done meanwhile.

    python tests/support/run_environment.py check                  # Java, Python and a compiler; installs nothing
    python tests/support/run_environment.py packages .venv-run     # the environment and what rmqalloc depends on
    python tests/support/run_environment.py package .venv-run      # rmqalloc itself, from the checkout

The standard library alone: it runs on the Python of the machine, before there is an environment.
"""

import importlib.util
import os
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

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ("cli", "spark")
LOG_TAIL = 30

STORED = "[bdist_wheel]\ncompression = stored\n"
"""PySpark comes as source alone, and its wheel is unpacked at once: compressing 400 MB of jars would be lost work."""


class StepError(Exception):
    """A step failed; the message says what to do."""


def java() -> ModuleType:
    """The rule of which Java fits, loaded by path: importing its package would need numpy."""
    spec = importlib.util.spec_from_file_location("java_rule", ROOT / "spark_udfs" / "_java_rule.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems() -> Iterator[str]:
    """Everything that this machine lacks, each with what to install."""
    rule = java()
    if fault := rule.java_fault(rule.java_version(), None):  # None: the newest Spark is what gets installed
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
    print(f"make plan: {text} ...", end=" ", file=sys.stderr, flush=True)
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
                list(map(str, command)), stdout=log, stderr=log, env=environment, cwd=ROOT, check=False
            )
        return done.returncode == 0

    def install(self, *arguments: str) -> None:
        """Install by uv, and by pip where uv cannot be had or fails, as it does with an index that only pip is set up for."""
        if self.run(self.python, "-m", "uv", "pip", "install", *arguments):
            return
        if not self.run(self.python, "-m", "pip", "install", "--no-compile", *arguments):
            tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL:]
            raise StepError(
                "\n".join([*tail, f"The whole log is in {self.log}. Run `make plan` again once the cause is gone."])
            )

    def add_packages(self) -> None:
        """Make the environment and install what rmqalloc and its extras depend on."""
        if not self.python.exists():
            with step(f"making {self.folder}"):
                shutil.rmtree(self.folder, ignore_errors=True)
                subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
                # Half the processor time of pip; without it, `install` does all by pip.
                self.run(self.python, "-m", "pip", "install", "--no-compile", "uv")
        pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        project = pyproject["project"]
        needed = [*project["dependencies"], *(name for one in EXTRAS for name in project["optional-dependencies"][one])]
        with step("installing PySpark and what else rmqalloc[cli,spark] needs, a download of 500 MB"):
            self.install(*pyproject["build-system"]["requires"], *needed)

    def add_package(self) -> None:
        """Build rmqalloc in the checkout and install it; what was compiled before and has not changed is kept."""
        for path in (ROOT / "build").glob("lib.*/**/*"):
            if path.is_file() and path.suffix not in (".so", ".dylib"):
                path.unlink()  # setuptools would put modules that are gone from the checkout into the wheel
        # Isolated, Cython would be unpacked for each build, and so be newer than everything that was compiled before.
        with step("compiling and installing rmqalloc (the first time 40 s of processor time)"):
            self.install("--no-build-isolation", "--no-deps", "--force-reinstall", str(ROOT))


def main(verb: str, folder: str = "") -> int:
    """Do one of the three, and end with 1 if it failed."""
    if verb == "check":
        found = list(problems())
        print("\n".join(found), end="\n" if found else "", file=sys.stderr)
        return bool(found)
    environment = Environment(Path(folder))
    try:
        environment.add_packages() if verb == "packages" else environment.add_package()
    except (StepError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
