"""The wheel in clean environments: answers, size, time to import, licences of what it brings."""

import json
from pathlib import Path

from platforms.release.check import Check, environment, run

IMPORTS = 7
LICENCES = (
    "Apache",
    "BSD",
    "MIT",
    "PSF",
    "Python Software Foundation",
    "ISC",
    "Zlib",
    "0BSD",
    "CC0",
    "CNRI",
)
"""Licences under which what is installed beside rmqalloc may be: all let users do what Apache-2.0 lets them do."""

IMPORT_TIME = f"""
import subprocess, sys, time
def seconds(text):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", text], check=True)
    return time.perf_counter() - start
for text in ("pass", "import numpy", "import rmqalloc"):
    print(min(seconds(text) for _ in range({IMPORTS})) * 1000)
"""


def engine_alone(wheel: Path, clone: Path, work: Path) -> list[Check]:
    """The wheel with numpy and nothing else."""
    programs = environment(work / "alone", wheel)
    said = run(
        programs / "python", "-W", "error", clone / "tests/support/replay_golden.py", cwd=work
    ).strip()
    checks = [
        Check(
            "Golden answers of Java, wheel and numpy alone",
            " 0 differ" in said,
            said.splitlines()[0],
        )
    ]
    bare, numpy, ours = map(float, run(programs / "python", "-c", IMPORT_TIME, cwd=work).split())
    said = f"{ours - bare:.0f} ms; numpy's part of it is {numpy - bare:.0f} ms (best of {IMPORTS})"
    checks.append(Check("Time to `import rmqalloc`", True, said))
    site = next((work / "alone").glob("lib/python*/site-packages"))
    size = sum(
        f.stat().st_size
        for n in ("rmqalloc", "spark_udfs")
        for f in (site / n).rglob("*.*")
        if f.suffix != ".pyc"
    )
    return [
        *checks,
        Check("Size once installed, without bytecode", True, f"{size / 2**20:.1f} MiB"),
    ]


def licences(wheel: Path, work: Path, tools: Path) -> Check:
    """What `[all]` brings, and under which licences."""
    programs = environment(work / "all", f"{wheel}[all]")
    listed = run(
        tools / "pip-licenses",
        "--python",
        programs / "python",
        "--format",
        "json",
        "--from",
        "mixed",
    )
    found = {one["Name"]: one["License"] for one in json.loads(listed) if one["Name"] != "rmqalloc"}
    odd = [f"{name} ({text[:60]})" for name, text in found.items() if not allowed(text)]
    said = (
        f"others: {', '.join(odd)}"
        if odd
        else f"{len(found)} packages, all under permissive licences"
    )
    return Check("Licences of all dependencies, `[all]`", not odd, said)


def allowed(text: str) -> bool:
    """Does every part of a licence's name stand on the list? Of alternatives one is enough."""
    parts = text.replace("(", "").replace(")", "").replace(";", " AND ").split(" AND ")
    return all(
        any(known in choice for choice in part.split(" OR ") for known in LICENCES)
        for part in parts
    )
