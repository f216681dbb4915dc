"""One release, measured from its wheel."""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import instructions
from machines import cpu_model

WORKER = Path(__file__).with_name("worker.py")
STARTS = {
    "bare": "pass",
    "numpy": "import numpy",
    "rmqalloc": "from rmqalloc import Fleet, strategy",
}
"""What is started to see how long an import takes, and what it loads."""
N_STARTS = 20
N_ROUNDS = 15
BULK = (1_000, 200_000)
"""Groups of the files that the job plans: the memory of the first is what every run takes."""

Entry = dict[str, Any]


def environment(folder: Path) -> dict[str, str]:
    """The environment in which the release is the one that is imported.

    numpy's linear algebra, which nothing here asks for, starts no threads: idle ones turn in
    circles for a while, and count.
    """
    path = os.pathsep.join([str(folder), str(WORKER.parents[1])])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONSAFEPATH": "1",
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
    }


def run(folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run Python with the release.

    Raises
    ------
    SystemExit
        If it fails, with what it said.
    """
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment(folder), cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr}")
    return done


def worked(folder: Path, *arguments: str) -> Any:
    """What a verb of the worker prints."""
    printed = run(folder, [str(WORKER), *arguments]).stdout
    return json.loads(printed) if printed else None


def sizes(wheel: Path) -> dict[str, int]:
    """Bytes of the wheel, and of the files that are installed from it."""
    with zipfile.ZipFile(wheel) as archive:
        files = [one for one in archive.infolist() if not one.is_dir()]
    return {
        "wheel": wheel.stat().st_size,
        "installed": sum(one.file_size for one in files),
        "files": len(files),
    }


def modules(folder: Path) -> int:
    """How many modules an import loads that numpy does not: of any package."""
    loaded = [
        int(run(folder, ["-c", f"import sys; {STARTS[name]}; print(len(sys.modules))"]).stdout)
        for name in ("numpy", "rmqalloc")
    ]
    return loaded[1] - loaded[0]


def import_microseconds(text: str) -> int:
    """Sum of the times that modules themselves took, of ``-X importtime``.

    >>> said = "import time: self [us] | cumulative | imported\\nimport time:  12 | 12 |   a\\nimport time: 3 | 15 | b"
    >>> import_microseconds(said)
    15
    """
    cells = [
        line.removeprefix("import time:").split("|")
        for line in text.splitlines()
        if line.startswith("import time:")
    ]
    return sum(int(own) for own, *_ in cells if own.strip().isdigit())


def starts(folder: Path) -> dict[str, dict[str, float]]:
    """Best of many starts, in turns: milliseconds of all imports, and of CPU time, which other work
    does not lengthen.
    """
    best: dict[str, dict[str, float]] = {"imports": {}, "cpu": {}}
    for _ in range(N_STARTS):
        for name, code in STARTS.items():
            done = run(
                folder,
                ["-X", "importtime", "-c", f"{code}; import time; print(time.process_time())"],
            )
            taken = {
                "imports": import_microseconds(done.stderr) / 1000,
                "cpu": float(done.stdout) * 1000,
            }
            for of, value in taken.items():
                best[of][name] = round(min(best[of].get(name, value), value), 1)
    return best


def counts(folder: Path) -> dict[str, int]:
    """Instructions of each kernel, with the widest set that callgrind knows."""
    path = os.pathsep.join([str(folder), str(WORKER.parents[1])])
    _, found = instructions.count("avx2", path, str(WORKER))
    return found


def bulk_bytes(folder: Path) -> dict[str, float]:
    """Most memory that the job on threads takes, and how much of it grows with the units."""
    peaks = []
    with tempfile.TemporaryDirectory() as scratch:
        for n_groups in BULK:
            source = f"{scratch}/{n_groups}.parquet"
            worked(folder, "fleet", str(n_groups), source)
            peaks.append(worked(folder, "bulk", source, f"{scratch}/{n_groups}-out")["peak"])
    return {"peak": peaks[1], "per unit": round((peaks[1] - peaks[0]) / (BULK[1] - BULK[0]), 1)}


def rounded(found: Any) -> Any:
    """The same with three digits."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    return float(f"{found:.3g}")


def measured(wheel: Path, version: str, quick: bool = False) -> Entry:
    """All of a release; in a quick run, what is the same in every run."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        run(
            folder, ["-m", "compileall", "-q", "."]
        )  # as an installation does, whatever PYTHONDONTWRITEBYTECODE says
        entry: Entry = {"version": version, "bytes": sizes(wheel), "modules": modules(folder)}
        entry["instructions"] = counts(folder)
        entry["compiler"] = instructions.compiler()
        if not quick:
            entry["memory"] = {**worked(folder, "memory"), "bulk": bulk_bytes(folder)}
            entry["start"] = starts(folder)
            entry.update(rounded(worked(folder, "growth", str(N_ROUNDS))))
            entry["machine"] = machine()
    return entry


def machine() -> str:
    """What the times belong to."""
    import numpy as np

    cores, load = os.cpu_count(), os.getloadavg()[0]
    python = sys.version.partition(" ")[0]
    return f"{cpu_model()}, {cores} cores, Python {python}, numpy {np.__version__}, load {load:.0f} at the end"
