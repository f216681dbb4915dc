"""Compile and link all extension modules for one target by zig, from the lists and flags of
setup.py.
"""

import contextlib
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from checkout import ROOT

from platforms.targets.listed import Target

BUILD = ROOT / "build/targets"
ZIG = [sys.executable, "-m", "ziglang"]
JOBS = 2
DLLTOOL_MACHINES = {"x86_64": "i386:x86-64", "aarch64": "arm64"}


@cache
def setup() -> ModuleType:
    """The module setup.py: which files, which flags."""
    spec = importlib.util.spec_from_file_location("setup_of_rmqalloc", ROOT / "setup.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def module_sources() -> dict[str, list[Path]]:
    """C files of every extension module, the generated one first. Cython runs once for all targets."""
    with contextlib.chdir(ROOT):  # the lists of setup.py are relative
        extensions = setup().extensions(str(BUILD / "cython"), quiet=True)
    names = [extension.name.rpartition(".")[2] for extension in extensions]
    return {
        name: [Path(extension.sources[0]), *map(Path, setup().C_SOURCES.get(name, []))]
        for name, extension in zip(names, extensions, strict=True)
    }


@dataclass
class Linked:
    """What became of the modules of a target."""

    modules: dict[str, Path] = field(default_factory=dict)
    n_compiled: int = 0
    n_sources: int = 0
    faults: list[str] = field(default_factory=list)


def zig(*words: object, timeout: float = 1800) -> str:
    """Run zig; what it complained about, empty if it succeeded."""
    environment = {
        **os.environ,
        "ZIG_GLOBAL_CACHE_DIR": str(BUILD / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(BUILD / "zig"),
    }
    command = [*ZIG, *map(str, words)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return (
        ""
        if done.returncode == 0
        else done.stderr or f"zig {words[0]} ended with {done.returncode}"
    )


def first_errors(text: str) -> str:
    """The lines of a compiler's complaint that say what is wrong."""
    lines = [
        line[:300] for line in text.splitlines() if "error:" in line or "undefined symbol" in line
    ]
    return "; ".join(lines[:3]) or text[-500:]


def link(
    target: Target, headers: list[Path], version: str, libraries: "Libraries | None" = None
) -> Linked:
    """Compile each file once and link every module; `libraries` makes what the linker wants besides
    from the objects.
    """
    folder = BUILD / target.name.replace(", ", "-").replace(" ", "-") / "package/rmqalloc/_engine"
    objects_folder = folder.parents[2] / "objects"
    for made in (folder, objects_folder):
        made.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.so"), folder.glob("*.pyd"):
        for path in old:
            path.unlink()
    sources = list(
        dict.fromkeys(source for needed in module_sources().values() for source in needed)
    )
    sources.sort(
        key=lambda path: path.name not in {"md5_core.c", "strings_core.c"}
    )  # the longest first
    flags = [
        "-target",
        target.zig,
        *setup().compile_args("unix"),
        "-DNDEBUG",
        "-fPIC",
        "-Ipyx",
        *(f"-I{path}" for path in headers),
    ]
    objects = {
        source: objects_folder / f"{source.parent.parent.name}-{source.stem}.o"
        for source in sources
    }
    linked = Linked(n_sources=len(sources))
    with ThreadPoolExecutor(JOBS) as pool:
        said = list(
            pool.map(lambda source: zig("cc", *flags, "-c", source, "-o", objects[source]), sources)
        )
    linked.n_compiled = sum(not text for text in said)
    linked.faults += [
        f"{source.name}: {first_errors(text)}"
        for source, text in zip(sources, said, strict=True)
        if text
    ]
    if linked.faults:
        return linked
    more = libraries.made(target, list(objects.values())) if libraries else []
    _link_modules(target, linked, objects, folder, version, more)
    return linked


def _link_modules(
    target: Target,
    linked: Linked,
    objects: dict[Path, Path],
    folder: Path,
    version: str,
    more: list[Path],
) -> None:
    flags = ["-target", target.zig, "-shared", "-s"]

    def module(name: str) -> str:
        made = folder / f"{name}{target.suffix.format(version=version.replace('.', ''))}"
        text = zig(
            "cc", *flags, *(objects[source] for source in module_sources()[name]), *more, "-o", made
        )
        if not text:
            linked.modules[name] = made
        return text

    names = list(module_sources())
    with ThreadPoolExecutor(JOBS) as pool:
        said = list(pool.map(module, names))
    linked.faults += [
        f"{name} was not linked: {first_errors(text)}"
        for name, text in zip(names, said, strict=True)
        if text
    ]


class Libraries:
    """An import library of a Windows Python, made from the names that objects ask for: no Windows
    Python is needed.
    """

    def __init__(self, version: str) -> None:
        self.name = f"python{version.replace('.', '')}"

    def made(self, target: Target, objects: list[Path]) -> list[Path]:
        """The library in a list."""
        import lief

        wanted = set()
        for path in objects:
            parsed = lief.COFF.parse(str(path))
            assert parsed, f"{path.name} is no COFF object"
            names = {symbol.name.removeprefix("__imp_") for symbol in parsed.symbols}
            wanted |= {name for name in names if name.startswith(("Py", "_Py"))}
        defined = objects[0].parent / f"{self.name}.def"
        library = defined.with_suffix(".lib")
        defined.write_text(
            f"LIBRARY {self.name}.dll\nEXPORTS\n"
            + "".join(f"    {name}\n" for name in sorted(wanted))
        )
        machine = DLLTOOL_MACHINES[target.zig.partition("-")[0]]
        if text := zig(
            "dlltool", "-m", machine, "-D", f"{self.name}.dll", "-d", defined, "-l", library
        ):
            raise SystemExit(f"zig dlltool: {text}")
        return [library]
