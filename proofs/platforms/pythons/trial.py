"""One Python's trial: the wheel is built from the sdist, installed beside numpy from PyPI, and
asked.

Everything happens in a folder of the trial's own; `Python.before` is what to put before a command,
where the interpreter lives in another root.
"""

import json
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field

STRATEGIES = tuple(
    f"tests/strategies/test_{name}.py"
    for name in ("errors", "golden", "ordinal", "promises", "stable", "strategies")
)
ROOMS = ("tests/engine", "tests/fleet", *STRATEGIES)
TOOLS = ("pytest", "pytest-timeout", "hypothesis")
BESIDE = ("pyarrow", "pandas", "click", "pyyaml")
"""Packages that some tests import; they are left out where they have no wheel for a Python."""

MARKS = "not java and not go and not spark and not cluster and not slow"
DESELECTED = ("the_reference",)
VIEWS = ("streams_arrow", "every_kind_of_text")
"""Tests by words of their names: those of the slow twin, and two in which PyArrow 24, the last with a wheel for 3.13 without
the lock, ends by a segmentation fault of its own."""

IMPORTED = (
    "import sys; import rmqalloc._engine as e; from importlib import import_module as i; from pathlib import Path;"
    "modules = sorted({p.name.partition('.')[0] for p in Path(e.__file__).parent.glob('*.so')});"
    "[i('rmqalloc._engine.' + name) for name in modules];"
    "print(len(modules), getattr(sys, '_is_gil_enabled', lambda: True)(), sys.version.split()[0], sep='|')"
)


@dataclass
class Python:
    """An interpreter: where it came from, what to put before its commands, settings of its
    processes.
    """

    label: str
    origin: str
    executable: str
    before: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)
    is_free: bool = False


class Stopped(Exception):
    """A step of a trial ended with an error; the trial goes no further. ``found`` is what it had
    found.
    """

    def __init__(self, why, found=None):
        super().__init__(why)
        self.found = found


class Trial:
    """Steps of one Python in one folder; `found` is what the report says."""

    def __init__(self, python, folder, sdist=None):
        """Begin a trial; without an sdist go on in the folder of one that was made."""
        self.python, self.folder = python, folder.absolute()
        self.found = {"label": python.label, "origin": python.origin, "free": python.is_free}
        self.sdist = None
        if sdist is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            with tarfile.open(sdist) as packed:
                packed.extractall(self.folder, filter="data")
            self.sdist = shutil.copy(sdist, self.folder)
        (self.source,) = (path.parent for path in self.folder.glob("*/pyproject.toml"))
        self.venv = self.folder / "venv"
        self.executable, self.paths = self.venv / "bin/python", []

    def run(self, name, *command, timeout=1800, may_fail=False, **variables):
        """Run a command of the trial; what it says is kept in a file of that name."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if key in ("HOME", "LANG", "PATH") or key[:4] == "PIP_"
        }
        kept |= {"PYTHONSAFEPATH": "1", "CI": "true"} | self.python.variables | variables
        settings = (f"{key}={value}" for key, value in kept.items())
        asked = [*self.python.before, "/usr/bin/env", "-C", self.source, *settings, *command]
        with (
            open(self.folder / f"{name}.out", "w") as out,
            open(self.folder / f"{name}.err", "w") as errors,
        ):
            try:
                done = subprocess.run(
                    list(map(str, asked)), stdout=out, stderr=errors, timeout=timeout, check=False
                )
                ended = done.returncode
            except subprocess.TimeoutExpired:
                ended = f"no end within {timeout:g} seconds"
        said = (self.folder / f"{name}.out").read_text(errors="replace")
        if ended and not may_fail:
            why = reason((self.folder / f"{name}.err").read_text(errors="replace") or said)
            self.found["stopped"] = f"{name} ended with {ended}: {why}"
            raise Stopped(self.found["stopped"], self.found)
        return ended, said

    def ask(self, name, *arguments, **options):
        """Run the Python that is tried, with the programs of tests and proofs in reach; warnings
        are errors.
        """
        helpers = [self.source / folder for folder in ("proofs", "tests", "tests/support")]
        paths = os.pathsep.join(map(str, [*self.paths, *helpers]))
        return self.run(
            name, self.executable, "-W", "error", *arguments, PYTHONPATH=paths, **options
        )

    def pip(self, name, *arguments, **options):
        """Run pip of the trial's environment."""
        return self.run(name, self.venv / "bin/python", "-m", "pip", *arguments, **options)

    def install(self, **variables):
        """The environment, the wheel by this Python, and what the tests import, from wheels only;
        then what is there.
        """
        if self.sdist is not None:
            self._install(variables)
        (wheel,) = (self.folder / "wheel").glob("*.whl")
        self.found["wheel"], self.found["size"] = wheel.name, wheel.stat().st_size
        listed = json.loads(self.pip("list", "list", "--format=json")[1])
        self.found["packages"] = {one["name"].lower(): one["version"] for one in listed}
        self.found["missing"] = [one for one in BESIDE if one not in self.found["packages"]]

    def _install(self, variables):
        self.run("venv", self.python.executable, "-m", "venv", self.venv)
        if self.found[
            "free"
        ]:  # Debian's site.py seeks packages of an environment in a folder without the t
            (with_t,) = (self.venv / "lib").glob("python*t")
            with_t.with_name(with_t.name.removesuffix("t")).symlink_to(with_t.name)
        build = (
            "wheel",
            "-q",
            "--no-deps",
            "--no-cache-dir",
            "-w",
            self.folder / "wheel",
            self.sdist,
        )
        self.pip("wheel", *build, **variables)
        wheels = (self.folder / "wheel").glob("*.whl")
        self.pip("numpy", "install", "-q", "--only-binary=:all:", *wheels, *TOOLS)
        for one in BESIDE:
            self.pip(one, "install", "-q", "--only-binary=:all:", one, may_fail=True)

    def imports(self):
        """Import every compiled module."""
        said = self.ask("import", "-c", IMPORTED)[1]
        modules, lock, version = said.strip().split("|")
        self.found |= {"modules": int(modules), "lock": lock == "True", "version": version}

    def golden(self):
        """The golden answers."""
        code, said = self.ask("golden", "tests/support/replay_golden.py", may_fail=True)
        counts = re.search(r"(\d+) cases, (\d+) answers, (\d+) differ", said)
        self.found["golden"] = (
            [int(n) for n in counts.groups()] if counts else [0, 0, f"ended with {code}"]
        )

    def tests(self, rooms=ROOMS, deselected=DESELECTED):
        """Tests of rooms; files that name a package without a wheel are left out."""
        places = [self.source / room for room in rooms]
        files = [
            path
            for place in places
            for path in ([place] if place.is_file() else sorted(place.glob("test_*.py")))
        ]
        names = ["yaml" if name == "pyyaml" else name for name in self.found["missing"]]
        left = [
            path for path in files if any(f"import {name}" in path.read_text() for name in names)
        ]
        if self.found["packages"].get("pyarrow", "").startswith("24."):
            deselected += VIEWS
        paths = [path.relative_to(self.source) for path in files if path not in left]
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            " and ".join(f"not {word}" for word in deselected),
            "-m",
            MARKS,
        ]
        meant = {"RMQALLOC_WHEEL_OF": str(self.source)}
        code, said = self.ask(
            "tests", "-m", "pytest", *options, *paths, may_fail=True, timeout=1200, **meant
        )
        lines = said.strip().splitlines()
        self.found["tests"] = counts_of(lines[-1]) if lines else {}
        self.found["tests"]["code"] = code
        self.found["failed"] = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        self.found["left out"] = [path.name for path in left]

    def program(self, module, *arguments, timeout=1800):
        """A program of this package, run by this Python; its line of JSON, or how it ended."""
        code, said = self.ask(
            module.rpartition(".")[2], "-m", module, *arguments, may_fail=True, timeout=timeout
        )
        lines = [line for line in said.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {"ended with": code}


def reason(text):
    """The line of an output that says most: the first error of a compiler, or the last line."""
    lines = text.strip().splitlines()
    errors = [line.strip() for line in lines if re.search(r":\d+: error: |^E: ", line)]
    return (errors or lines[-1:] or [""])[0][:300]


def counts_of(line):
    """Numbers of pytest's last line, by word."""
    found = re.findall(r"(\d+) (passed|failed|skipped|deselected|errors?)", line)
    return {word.rstrip("s"): int(number) for number, word in found}
