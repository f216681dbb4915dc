"""Count the instructions of every kernel with callgrind: repeatable to the last few, on a busy
machine too.

    python benchmarks/instructions.py compare    # against benchmarks/instructions.json; fails beyond --bound
    python benchmarks/instructions.py update     # after a change that is meant, or with another compiler

The kernels are those of the tree this file stands in, built in place. Callgrind collects only
inside their entry points. It knows no AVX-512, so the counts are of narrower code, and they say
nothing of memory or of the pipeline: a report beside the clock, not instead of it.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINE = Path(__file__).with_name("instructions.json")

# What Cython calls the entry point of a kernel; the number before a name is its length.
ENTRY = "__pyx_pw_8rmqalloc_7_engine_"

# Groups, queues and clients of what is counted.
SIZES = [(200, 16, 4), (20, 64, 16), (1, 1024, 100)]

# What every call through ctypes goes through.
CALL = "ffi_call"

# What needs fewer is the call and not the loop.
FEWEST = 5_000

STRATEGIES = (
    "AVG",
    "AVG_BY_CIRCLE",
    "CONSISTENT_HASH",
    "CONSISTENT_HASH_BOUNDED",
    "ORDINAL",
    "STABLE",
    "WEIGHTED",
)

Counts = dict[str, int]


def work(strategies: Sequence[str] = STRATEGIES) -> None:
    """Put every kernel of the strategies to work, and name the instruction set; this is what runs
    under callgrind.
    """
    import random

    from rmqalloc import Fleet, strategy
    from rmqalloc._engine import md5

    rng = random.Random(1)

    def client_id() -> str:
        octets = ".".join(str(rng.randrange(256)) for _ in range(3))
        return f"10.{octets}@{rng.randrange(1, 100_000)}#{rng.randrange(10**13, 10**16)}"

    groups = [
        (
            f"GID-{n_queues}-{group}",
            f"order-events-{n_queues}-{group}",
            [(f"broker-{100 + queue // 4}", queue % 4) for queue in range(n_queues)],
            [client_id() for _ in range(n_clients)],
        )
        for n_groups, n_queues, n_clients in SIZES
        for group in range(n_groups)
    ]
    fleet = Fleet.from_groups(groups).sorted()
    for name in strategies:
        strategy(name).assign_fleet(fleet)
    print(md5.isa())


def kernel_name(entry: str) -> str:
    """Read module and function out of the C name of an entry point.

    >>> kernel_name("__pyx_pw_8rmqalloc_7_engine_5split_3circular")
    'split.circular'
    """
    found = re.match(r"(\d+)(\w+)", entry.removeprefix(ENTRY))
    assert found, entry
    length, names = int(found[1]), found[2]
    return f"{names[:length]}.{re.sub(r'^_[0-9]+', '', names[length:])}"


def count(isa: str = "", package: str = str(ROOT), program: str = __file__) -> tuple[str, Counts]:
    """Run `work` under callgrind with an instruction set (the widest it knows), which is named, and
    give the counts.

    A kernel's count includes what it calls. Another package, such as an unpacked wheel, may need
    another program whose verb ``work`` it can do.
    """
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": package, "RMQALLOC_ISA": isa}
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/callgrind.out"
        options = [
            "--tool=callgrind",
            f"--toggle-collect={ENTRY}*",
            f"--callgrind-out-file={output}",
        ]
        used = run(["valgrind", *options, sys.executable, program, "work"], environment).strip()
        annotated = run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", output], environment
        )
    lines = re.findall(rf"^\s*([\d,]+) .*?:({ENTRY}\w+)", annotated, flags=re.MULTILINE)
    counts = {kernel_name(entry): int(number.replace(",", "")) for number, entry in lines}
    return used, {kernel: number for kernel, number in counts.items() if number >= FEWEST}


def run(command: list[str], environment: dict[str, str]) -> str:
    """Run a program and give what it prints; exit with its messages if it fails."""
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    return done.stdout


def count_calls(module: str, arguments: list[str], isa: str = "avx2") -> tuple[str, list[int]]:
    """Run a module under callgrind and count each call that it makes by `counted`: what it prints,
    and a count for each.

    A count holds everything below that call: Python, numpy and kernels.
    """
    environment = {**os.environ, "PYTHONHASHSEED": "0", "RMQALLOC_ISA": isa}
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/calls"
        options = [
            "--tool=callgrind",
            f"--toggle-collect={CALL}",
            f"--dump-after={CALL}",
            f"--callgrind-out-file={output}",
        ]
        printed = run(["valgrind", *options, sys.executable, "-m", module, *arguments], environment)
        dumps = sorted(Path(directory).glob("calls.*"), key=lambda path: int(path.suffix[1:]))
        totals = [
            re.search(r"^totals: (\d+)", path.read_text(), flags=re.MULTILINE) for path in dumps
        ]
    return printed, [int(total[1]) for total in totals if total]


def counted(function: Callable[[], object]) -> None:
    """Make a call that `count_calls` counts: the only one that goes through libffi, by whose name
    callgrind knows it.
    """
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            function()
        except BaseException as error:  # it would be lost on its way through C
            failed.append(error)

    ctypes.PYFUNCTYPE(None)(guarded)()
    if failed:
        raise failed[0]


def compiler() -> str:
    """Name the compiler that kernels are built with here."""
    command = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return run([command, "--version"], dict(os.environ)).partition("\n")[0]


def compare(bound: float) -> None:
    """Print the differences; fail where a kernel needs more than `bound` times the instructions of
    the baseline.
    """
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    here = compiler()
    if here != baseline["compiler"]:
        print(
            f"The baseline was counted with {baseline['compiler']}, this build is of {here}: expect differences.\n"
        )
    print("| kernel | baseline | now | change |\n| --- | ---: | ---: | ---: |")
    worse = []
    ask = "from rmqalloc._engine.md5 import available_isas as a; print(*a())"
    present = run([sys.executable, "-c", ask], {**os.environ, "PYTHONPATH": str(ROOT)}).split()
    for isa, before in baseline["instructions"].items():
        if isa not in present:
            print(f"| all, {isa} | – | – | not on this machine |")
            continue
        _, now = count(isa)
        for kernel in sorted(before.keys() | now.keys()):
            old, new = before.get(kernel, 0), now.get(kernel, 0)
            change = f"{new / old - 1:+.1%}" if old and new else "gone" if old else "new"
            print(f"| {kernel}, {isa} | {old:,} | {new:,} | {change} |")
            if old and new > bound * old:
                worse.append(f"{kernel} ({isa})")
    if worse:
        sys.exit(f"more than {bound} times the instructions of the baseline: {', '.join(worse)}")


def update() -> None:
    """Count anew and write the baseline."""
    instructions = dict([count(), count("scalar")])
    text = json.dumps(
        {"compiler": compiler(), "instructions": instructions}, indent=1, sort_keys=True
    )
    BASELINE.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description="Instructions of every kernel, counted by callgrind"
    )
    parser.add_argument("verb", choices=["compare", "update", "work"])
    parser.add_argument(
        "--bound",
        type=float,
        default=1.25,
        help="growth that `compare` still accepts (default: 1.25)",
    )
    options = parser.parse_args()
    if options.verb == "work":
        work()
    elif options.verb == "update":
        update()
    else:
        compare(options.bound)


if __name__ == "__main__":
    main()
