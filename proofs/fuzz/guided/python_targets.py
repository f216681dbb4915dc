"""The targets in Python under atheris: ``python -m fuzz.guided.python_targets '[["NAME", ...],
"FLAG", ...]'``.
"""

import json
import os
import subprocess
import sys
import time
from random import Random

from checkout import ROOT

from fuzz.guided.ledger import log_of, of_log
from fuzz.guided.places import WORK

PACKAGE = WORK / "python"
"""Where the package lies whose extensions were compiled with sanitizers."""

NAMES_OF_KERNELS = (
    "one-group",
    "odd-group",
    "own-strategies",
    "fleets",
    "columns",
    "counts",
    "weights",
)
NAMES_OF_READERS = (
    "snapshot-json", "snapshot-yaml", "snapshot-csv", "snapshot-parquet", "mqadmin-text", "any-form-told-by-content",
    "plan", "plan-packed", "scenarios-json", "scenarios-yaml", "simulation", "simulation-yaml", "gates", "gates-yaml",
    "credentials", "offsets", "list-of-clients", "marker-of-a-directory", "certified-plan", "machine-rooms", "wire-frames",
    "wire-bodies", "tolerant-json",
)  # fmt: skip
NAMES = (*NAMES_OF_KERNELS, *NAMES_OF_READERS)
"""All targets in Python; known without importing the package, which is not the same for both kinds."""

_SANITIZERS = "-fsanitize=address,undefined"
_FLAGS = (
    _SANITIZERS,
    "-fsanitize=fuzzer-no-link",
    "-fno-sanitize=null,object-size,alignment",
    "-fno-sanitize-recover=all",
)


_COMPILER = r"""#!/bin/sh
case "$*" in
*" pyx/vector/md5_core.c"*) exec clang -O0 -fPIC -Ipyx -c pyx/vector/md5_core.c -o "$(printf '%s\n' "$@" | grep '[.]o$')" ;;
esac
exec clang "$@" -O0
"""
"""It does not optimise, whatever setup.py says, and leaves the sanitizers out of one file that would take minutes with them:
fuzz_md5.c has it under both."""


def build_package():
    """Compile the package with sanitizers and libFuzzer's counters, unless it is newer than pyx/."""
    made = sorted((PACKAGE / "rmqalloc" / "_engine").glob("*.so"))
    newest = max(path.stat().st_mtime for path in (ROOT / "pyx").rglob("*"))
    if not made or made[0].stat().st_mtime < newest:
        WORK.mkdir(parents=True, exist_ok=True)
        compiler = WORK / "clang-unoptimised"
        compiler.write_text(_COMPILER)
        compiler.chmod(0o755)
        tools = {
            "CC": str(compiler),
            "LDSHARED": f"{compiler} -shared",
            "CFLAGS": " ".join(_FLAGS),
            "LDFLAGS": _SANITIZERS,
        }
        folders = ["--build-lib", PACKAGE, "--build-temp", f"{PACKAGE}-temp"]
        command = [sys.executable, "setup.py", "-q", "build", *folders]
        subprocess.run(command, cwd=ROOT, env=os.environ | tools, check=True)


def load(of_kernels):
    """All targets of either kind by name; imports the package."""
    if of_kernels:
        from fuzz.guided import of_kernels as made
    else:
        from fuzz.guided import of_readers as made
    return {one.name: one for one in made.TARGETS}


def sanitized():
    """The environment in which the extensions of `PACKAGE` can be loaded."""
    import atheris

    # atheris has libFuzzer and the address sanitizer's runtime in one library, which must be there
    # before any other.
    others = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {
        "LD_PRELOAD": os.path.join(atheris.path(), "asan_with_fuzzer.so"),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": os.pathsep.join([str(PACKAGE), *others]),
    }


def fuzz(target, flags):
    """Never returns: libFuzzer ends the process."""
    import atheris

    options = {}
    if target.changed:

        def mutate(data, max_size, seed):
            random = Random(seed)
            if random.random() < 0.3:
                return atheris.Mutate(data, max_size)
            try:
                return target.changed(data, random)[:max_size]
            except (IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
                return atheris.Mutate(data, max_size)

        options["custom_mutator"] = mutate
    atheris.Setup([target.name, *flags], target.one, **options)
    atheris.Fuzz()


def main():
    """Each target in a process of its own, forked when all is loaded and instrumented; a line of
    JSON says what came of it.
    """
    import atheris

    names, *flags = json.loads(sys.argv[1])
    with atheris.instrument_imports(include=["rmqalloc"], enable_loader_override=False):
        targets = load(names[0] in NAMES_OF_KERNELS)
    for name in names:
        log, started = log_of(name), time.monotonic()
        child = os.fork()
        if child == 0:
            with log.open("wb") as out:
                os.dup2(out.fileno(), 1)
                os.dup2(out.fileno(), 2)
            fuzz(targets[name], [flag.replace("NAME", name) for flag in flags])
        _, status, used = os.wait4(child, 0)
        made = of_log(name, time.monotonic() - started, used.ru_utime + used.ru_stime, status)
        print(json.dumps(made._asdict()), flush=True)


if __name__ == "__main__":
    main()
