"""One Python's trial: the wheel is built from the sdist, installed beside numpy from PyPI, and asked.

Everything happens in a folder of the trial's own; `Python.before` is what to put before a command, where the
interpreter lives in another root.
"""

import json
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

STRATEGIES = tuple(
    f"tests/strategies/test_{name}.py" for name in ("errors", "golden", "ordinal", "promises", "stable", "strategies")
)
ROOMS = ("tests/engine", "tests/fleet", *STRATEGIES)
TOOLS = ("pytest", "hypothesis")
MARKS = "not java and not go and not spark and not cluster and not slow"
IMPORTED = (
    "import sys; import rmqalloc._engine as e; from importlib import import_module as i; from pathlib import Path;"
    "modules = sorted({p.name.partition('.')[0] for p in Path(e.__file__).parent.glob('*.so')});"
    "[i('rmqalloc._engine.' + name) for name in modules];"
    "print(len(modules), getattr(sys, '_is_gil_enabled', lambda: True)(), sys.version.split()[0], sep='|')"
)


@dataclass
class Python:
    """An interpreter: where it came from, how it is started, settings of its processes; of one built here also its source.

    ``refused`` are reasons why a newer one could not be had.
    """

    label: str
    origin: str
    executable: str
    before: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)
    source: Path | None = None
    refused: list = field(default_factory=list)


class Stopped(Exception):
    """A step of a trial ended with an error; the trial goes no further."""


class Trial:
    """Steps of one Python in one folder; `found` is what the report says."""

    def __init__(self, python, folder, sdist):
        self.python, self.folder = python, folder.absolute()
        self.found = {"label": python.label, "origin": python.origin, "refused": python.refused}
        self.found["free"] = python.source is not None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with tarfile.open(sdist) as packed:
            packed.extractall(self.folder, filter="data")
        (self.source,) = (path for path in self.folder.iterdir() if path.is_dir())
        self.sdist = shutil.copy(sdist, self.folder)
        self.venv = self.folder / "venv"

    def run(self, name, *command, timeout=1800, may_fail=False, **variables):
        """Run a command of the trial; what it says is kept in a file of that name."""
        kept = {key: value for key, value in os.environ.items() if key in ("HOME", "LANG", "PATH") or key[:4] == "PIP_"}
        kept |= {"PYTHONSAFEPATH": "1", "CI": "true"} | self.python.variables | variables
        asked = [
            *self.python.before,
            "/usr/bin/env",
            "-C",
            self.source,
            *(f"{k}={v}" for k, v in kept.items()),
            *command,
        ]
        with open(self.folder / f"{name}.out", "w") as out, open(self.folder / f"{name}.err", "w") as errors:
            done = subprocess.run(list(map(str, asked)), stdout=out, stderr=errors, timeout=timeout, check=False)
        said = (self.folder / f"{name}.out").read_text(errors="replace")
        if done.returncode and not may_fail:
            tail = ((self.folder / f"{name}.err").read_text(errors="replace") or said).strip().splitlines()
            self.found["stopped"] = f"{name} ended with {done.returncode}: {tail[-1] if tail else ''}"
            raise Stopped(self.found["stopped"])
        return done.returncode, said

    def pip(self, name, *arguments, **options):
        """Run pip of the trial's environment."""
        return self.run(name, self.venv / "bin/python", "-m", "pip", *arguments, **options)

    def install(self, **variables):
        """The environment, the wheel by this Python, and what the tests import; pyarrow only if it has a wheel."""
        self.run("venv", self.python.executable, "-m", "venv", self.venv)
        self.pip("wheel", "wheel", "-q", "--no-deps", "-w", self.folder / "wheel", self.sdist, **variables)
        (wheel,) = (self.folder / "wheel").glob("*.whl")
        self.found["wheel"], self.found["size"] = wheel.name, wheel.stat().st_size
        self.pip("numpy", "install", "-q", "--only-binary=numpy", wheel, *TOOLS)
        code, _ = self.pip("pyarrow", "install", "-q", "--only-binary=:all:", "pyarrow", may_fail=True)
        self.found["pyarrow"] = code == 0
        listed = json.loads(self.pip("list", "list", "--format=json")[1])
        self.found["packages"] = {one["name"]: one["version"] for one in listed}

    def imports(self):
        """Import every compiled module, warnings are errors: numpy is the only other package that is needed."""
        said = self.run("import", self.venv / "bin/python", "-W", "error", "-c", IMPORTED)[1]
        modules, lock, version = said.strip().split("|")
        self.found |= {"modules": int(modules), "lock": lock == "True", "version": version}

    def golden(self):
        """The golden answers."""
        code, said = self.run(
            "golden", self.venv / "bin/python", "-W", "error", "tests/support/replay_golden.py", may_fail=True
        )
        counts = re.search(r"(\d+) cases, (\d+) answers, (\d+) differ", said)
        self.found["golden"] = [int(n) for n in counts.groups()] if counts else f"ended with {code}"

    def tests(self, rooms=ROOMS):
        """Tests of rooms; those of files that name pyarrow are left out where it is missing."""
        places = [self.source / room for room in rooms]
        files = [path for place in places for path in ([place] if place.is_file() else sorted(place.glob("test_*.py")))]
        left = [] if self.found["pyarrow"] else [path for path in files if "import pyarrow" in path.read_text()]
        command = ["-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k"]
        command += ["not the_reference", "-m", MARKS]
        chosen = [path.relative_to(self.source) for path in files if path not in left]
        code, said = self.run("tests", self.venv / "bin/python", *command, *chosen, may_fail=True, timeout=3000)
        lines = said.strip().splitlines()
        self.found["tests"] = counts_of(lines[-1]) if lines else {}
        self.found["tests"]["code"] = code
        self.found["failed"] = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        self.found["left out"] = [path.name for path in left]

    def program(self, module, *arguments, timeout=1800, **variables):
        """A program of this package, run by this Python; its line of JSON, or how it ended."""
        places = os.pathsep.join(map(str, [self.source / "tests", self.source / "tests/support"]))
        name = module.rpartition(".")[2]
        command = [self.venv / "bin/python", "-W", "error", "-m", module, *arguments]
        code, said = self.run(name, *command, may_fail=True, timeout=timeout, PYTHONPATH=places, **variables)
        lines = [line for line in said.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {"ended with": code}


def counts_of(line):
    """Numbers of pytest's last line, by word."""
    found = re.findall(r"(\d+) (passed|failed|skipped|deselected|errors?)", line)
    return {word.rstrip("s"): int(number) for number, word in found}
