"""Run by the Python of a target: import each module by its file, without numpy, and hash by every
instruction set.

Prints ``MODULES imported, KEYS keys, WRONG wrong: ISAS``.
"""

import hashlib
import sys
from array import array
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

KEYS = [b"10.0.0.%d@%d" % (i, i * i) * (i % 40) for i in range(2000)]


def imported(path):
    name = path.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    spec = spec_from_file_location(
        f"rmqalloc._engine.{name}",
        path,
        loader=ExtensionFileLoader(f"rmqalloc._engine.{name}", path),
    )
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return name, module


def wrong_hashes(md5):
    offsets = array("q", [0])
    for key in KEYS:
        offsets.append(offsets[-1] + len(key))
    out = array("I", [0]) * len(KEYS)
    md5.strings(b"".join(KEYS), offsets, 0, len(KEYS), out)
    expected = [int.from_bytes(hashlib.md5(key).digest()[:4], "big") for key in KEYS]
    return sum(got != want for got, want in zip(out, expected, strict=True))


def main(paths):
    for name in ("rmqalloc", "rmqalloc._engine"):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = []
    modules = dict(imported(path) for path in paths)
    isas = modules["md5"].available_isas()
    wrong = 0
    for isa in isas:
        modules["md5"].force_isa(isa)
        wrong += wrong_hashes(modules["md5"])
    print(f"{len(modules)} imported, {len(KEYS) * len(isas)} keys, {wrong} wrong: {' '.join(isas)}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
