"""From the release before: its snapshots are read, its plans say what they said, its imports work
or are listed as moved.
"""

import json
import re
from pathlib import Path

from release_check.check import Check, environment, run

BEFORE = "020e78a5636cee7ebe4f0a1368dbc7d670d6c1f9"
"""The last commit of the release before, 0.1.0, which was never tagged. A release sets this to the commit of its own tag."""
CHANGE = ("--scale", "3", "--assume", "--allow-partial")

NAMES = """
import importlib, json, pkgutil
names = {}
for package in ("rmqalloc", "spark_udfs"):
    root = importlib.import_module(package)
    rooms = [package, *(m.name for m in pkgutil.walk_packages(root.__path__, package + ".") if "__main__" not in m.name)]
    for one in rooms:
        if "._" not in one and not one.startswith("rmqalloc.cli"):
            names[one] = sorted(getattr(importlib.import_module(one), "__all__", []))
print(json.dumps({room: public for room, public in names.items() if public}))
"""
MISSING = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
missing = []
for module, names in json.loads(sys.argv[1]).items():
    try:
        room = importlib.import_module(module)
    except ImportError:
        missing.append([module, None])
        continue
    missing += [[module, name] for name in names if not hasattr(room, name)]
print(json.dumps(missing))
"""
FIGURES = """
import json, sys
from rmqalloc.plans import load_plan
rows = load_plan(sys.argv[1]).units.to_pylist()
key, figures = ("consumer_group", "topic", "scenario"), ("n_queues", "n_clients", "moved", "unowned", "skew")
print(json.dumps({"|".join(row[n] for n in key): [row[n] for n in figures] for row in rows}))
"""


def former_wheel(clone: Path, work: Path, python: Path) -> Path:
    """The wheel of the release before, built from its own sources."""
    source = work / "before"
    source.mkdir()
    run("sh", "-c", f"git archive {BEFORE} | tar x -C {source}", cwd=clone)
    run(python, "-m", "build", "--wheel", "--outdir", source / "dist", source)
    return next((source / "dist").glob("*.whl"))


def upgraded(clone: Path, work: Path, wheel: Path, python: Path) -> list[Check]:
    """One environment: the release before writes, the new wheel is installed over it and reads."""
    programs = environment(work / "upgraded", f"{former_wheel(clone, work, python)}[all]")
    names = json.loads(run(programs / "python", "-c", NAMES, cwd=work))
    snapshots = sorted((clone / "tests/data/snapshots-0.1.0").iterdir())
    for snapshot in snapshots:
        planned(programs, snapshot, work / f"before-{snapshot.stem}.json")
    was = run(programs / "rmqalloc", "--version").strip()
    run(programs / "pip", "install", "-q", "--upgrade", "--force-reinstall", "--no-deps", wheel)
    run(programs / "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[all]")
    run(programs / "pip", "check")
    said = (
        f"{was}, then {run(programs / 'rmqalloc', '--version').strip()} by pip, `pip check` content"
    )
    return [
        Check("Upgrade in place", True, said),
        *(plans_alike(programs, snapshots, work)),
        imports_work(programs, names, (clone / "CHANGELOG.md").read_text("utf-8"), work),
    ]


def planned(programs: Path, snapshot: Path, out: Path) -> None:
    """Save the plan of one change of a snapshot."""
    run(programs / "rmqalloc", "plan", "-f", snapshot, *CHANGE, "--out", out, cwd=out.parent)


def plans_alike(programs: Path, snapshots: list[Path], work: Path) -> list[Check]:
    """Saved plans of before are read, drawn, and say of every unit what a plan of now says."""
    n_units, wrong = 0, []
    for snapshot in snapshots:
        before, now = (work / f"{when}-{snapshot.stem}.json" for when in ("before", "now"))
        planned(programs, snapshot, now)
        run(
            programs / "rmqalloc",
            "report",
            before,
            "--out",
            work / f"{snapshot.stem}.html",
            cwd=work,
        )
        said, says = (
            json.loads(run(programs / "python", "-c", FIGURES, plan, cwd=work))
            for plan in (before, now)
        )
        both = said.keys() & says.keys()
        n_units += len(both)
        wrong += [
            f"{snapshot.name} {unit}: {said[unit]}, now {says[unit]}"
            for unit in both
            if said[unit] != says[unit]
        ]
        if not both or said.keys() - says.keys():
            wrong.append(f"{snapshot.name}: units are gone")
    said = (
        "; ".join(wrong[:5])
        if wrong
        else f"{len(snapshots)} snapshots; {n_units} units of their saved plans, all as before"
    )
    return [Check("Snapshots and saved plans of the release before", not wrong, said)]


def imports_work(programs: Path, names: dict[str, list[str]], changelog: str, work: Path) -> Check:
    """Public names of before are where they were, or the changelog lists what became of them."""
    missing = json.loads(run(programs / "python", "-c", MISSING, json.dumps(names), cwd=work))
    lost = [(module, name) for module, name in missing if not listed(module, name, changelog)]
    n_names = sum(map(len, names.values()))
    said = (
        f"{n_names} names in {len(names)} modules; {len(missing)} moved or gone, as CHANGELOG lists"
    )
    if lost:
        said = f"not in CHANGELOG: {', '.join(module if name is None else f'{module}.{name}' for module, name in lost)}"
    return Check("Imports of the release before", not lost, said)


def listed(module: str, name: str | None, changelog: str) -> bool:
    """Does the changelog name the module, a package that holds it, or the name itself?"""
    parts = module.split(".")
    modules = [".".join(parts[: i + 1]) for i in range(1, len(parts))]
    named = [f"`{one}`" in changelog or f"`.{parts[-1]}`" in changelog for one in modules]
    return any(named) or (
        name is not None and re.search(rf"\b{re.escape(name)}\b", changelog) is not None
    )
