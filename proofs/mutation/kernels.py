"""Compiles what a changed file of ``pyx/`` is part of, and no more."""

import importlib.util
import re
import subprocess
import sysconfig
import threading
from pathlib import Path

from checkout import ROOT

INCLUDED = re.compile(r'(?:#include|extern from|^include)\s+"([\w./]+)"', re.M)
FLAGS = ["-fPIC", "-O1", "-g0", "-fno-math-errno", "-w"]
ONE_AT_A_TIME = threading.Lock()
"""Cython's compiler holds its state in modules."""


def recipe():
    """The lists of `setup.py`."""
    spec = importlib.util.spec_from_file_location("recipe", ROOT / "setup.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


class Kernels:
    """Objects of a copy of the tree; each is compiled once, but for those that hold a mutant."""

    def __init__(self, folder):
        self.pyx, self.engine = folder / "pyx", folder / "rmqalloc" / "_engine"
        self.objects = folder / "objects"
        self.objects.mkdir()
        self.setup = recipe()
        self.cc = sysconfig.get_config_var("CC").split()
        self.places = {path.name: path for path in self.pyx.rglob("*.*")}
        self.units = {name for name in self.places if name.endswith((".c", ".pyx"))}

    def parts(self, name):
        """The files that one file is made of, itself among them."""
        found, open_ = set(), [name]
        while open_:
            one = open_.pop()
            if one not in found and one in self.places:
                found.add(one)
                included = INCLUDED.findall(self.places[one].read_text(encoding="utf-8"))
                open_ += [Path(each).name for each in included]
        return found

    def compiled(self, unit, target):
        """Make an object of a C or a Cython file."""
        source = self.places[unit]
        if unit.endswith(".pyx"):
            from Cython.Compiler.Main import CompilationOptions, compile_single
            from Cython.Compiler.Options import get_directive_defaults

            module, source = source, target.with_suffix(".c")
            directives = get_directive_defaults() | self.setup.DIRECTIVES
            options = CompilationOptions(
                output_file=str(source),
                compiler_directives=directives,
                include_path=[str(self.pyx)],
                language_level=3,
            )
            with ONE_AT_A_TIME:
                done = compile_single(str(module), options, f"rmqalloc._engine.{Path(unit).stem}")
            if done.num_errors:
                raise ValueError(unit)
        folders = [f"-I{self.pyx}", f"-I{sysconfig.get_path('include')}"]
        done = subprocess.run(
            [*self.cc, *FLAGS, *folders, "-c", source, "-o", target],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise ValueError(unit)

    def object(self, unit):
        target = self.objects / f"{unit}.o"
        if not target.exists():
            self.compiled(unit, target)
        return target

    def modules(self, units):
        """Modules that any of these is linked into, and all that each is made of."""
        for name in sorted(path.stem for path in self.pyx.glob("*.pyx")):
            needed = [
                f"{name}.pyx",
                *(Path(one).name for one in self.setup.C_SOURCES.get(name, [])),
            ]
            if units & set(needed):
                yield name, needed

    def built(self, *files):
        """Rebuild the modules that hold these files, and return the modules that they replace; None
        if one does not compile.
        """
        names = {Path(file).name for file in files}
        units = {unit for unit in self.units if names & self.parts(unit)}
        changed = {unit: self.objects / f"changed-{unit}.o" for unit in units}
        try:
            for unit, target in changed.items():
                self.compiled(unit, target)
        except ValueError:
            return None
        replaced = {}
        for module, needed in self.modules(units):
            [old] = self.engine.glob(f"{module}.*.so")
            replaced[old] = old.read_bytes()
            objects = [changed.get(unit) or self.object(unit) for unit in needed]
            old.unlink()  # a running process may still have it mapped
            subprocess.run([*self.cc, "-shared", *objects, "-o", old, "-lm"], check=True)
        return replaced
