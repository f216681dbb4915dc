"""What the files of extension modules say about themselves: machine, exported names, what they ask
of the C library.
"""

from pathlib import Path

import lief

from platforms.targets.listed import Target

MACHINES = {
    "x86_64": ("X86_64", "X86_64", "AMD64"),
    "aarch64": ("AARCH64", "ARM64", "ARM64"),
    "riscv64": ("RISCV",),
    "s390x": ("S390",),
    "arm": ("ARM",),
    "x86": ("I386",),
    "powerpc64le": ("PPC64",),
}
"""Names of a machine in ELF and PE."""


def wrong(target: Target, modules: dict[str, Path]) -> list[str]:
    """Modules of another machine, or that do not export how Python begins them, or ask for names
    that nobody has.
    """
    found = []
    for name, path in modules.items():
        parsed = lief.parse(str(path))
        machine, exported, foreign = _read(parsed)
        if machine not in MACHINES[target.zig.partition("-")[0]]:
            found.append(f"{name} is of the machine {machine}")
        if f"PyInit_{name}" not in exported:
            found.append(f"{name} does not export PyInit_{name}")
        if foreign:
            found.append(
                f"{name} asks for {', '.join(sorted(foreign))}, which no library named in it has"
            )
    return found


def _read(parsed: object) -> tuple[str, set[str], set[str]]:
    if isinstance(parsed, lief.ELF.Binary):
        exported = {symbol.name for symbol in parsed.exported_symbols}
        return parsed.header.machine_type.name, exported, _foreign_in_elf(parsed)
    assert isinstance(parsed, lief.PE.Binary)
    return parsed.header.machine.name, {entry.name for entry in parsed.exported_functions}, set()


def _is_pythons(name: str) -> bool:
    return name.startswith(("Py", "_Py"))


def _foreign_in_elf(parsed: "lief.ELF.Binary") -> set[str]:
    """Names without a version of the C library that are not Python's; a library without versions
    has none to tell by.
    """
    weak = lief.ELF.Symbol.BINDING.WEAK
    wanted = [
        symbol for symbol in parsed.dynamic_symbols if symbol.imported and symbol.binding != weak
    ]
    others = {symbol.name for symbol in wanted if not _is_pythons(symbol.name)}
    if not list(parsed.symbols_version_requirement):
        return {name for name in others if name.startswith("__cpu")}
    return others - {
        s.name for s in wanted if s.has_version and s.symbol_version.has_auxiliary_version
    }


def abi(target: Target, modules: dict[str, Path]) -> str:
    """The least C library or system that the modules ask for."""
    parsed = [lief.parse(str(path)) for path in modules.values()]
    if target.system == "windows":
        return ", ".join(sorted({library.name for binary in parsed for library in binary.imports}))
    if target.system == "musl":
        return "musl: " + ", ".join(
            sorted({name for binary in parsed for name in binary.libraries})
        )
    versions = [
        tuple(map(int, aux.name.removeprefix("GLIBC_").split(".")))
        for binary in parsed
        for requirement in binary.symbols_version_requirement
        for aux in requirement.get_auxiliary_symbols()
        if aux.name.startswith("GLIBC_")
    ]
    return "glibc " + ".".join(map(str, max(versions))) if versions else "no glibc symbol"
