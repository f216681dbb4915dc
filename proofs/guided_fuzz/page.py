"""What the committed corpora reach, and what was run: the page."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from checkout import ROOT

from guided_fuzz import ledger, places
from guided_fuzz.c_targets import C_TARGETS, build, clang
from guided_fuzz.python_targets import NAMES, NAMES_OF_KERNELS

HEAD = """# Fuzz guided by coverage

`make fuzz MINUTES=60`, then `python -m guided_fuzz coverage --report build/evidence/fuzzing.md`.

libFuzzer runs a target for every entry point of `pyx/vector/`, under every instruction set of the machine and with address and
undefined-behaviour sanitizers; a plain oracle in C says what is right (`tests/support/c/fuzz_*.c`, `plain_*.h`). atheris runs a
target for every reader: an input may be read, or end in the reader's own error. It also runs targets for the loops that Cython
compiles, behind their faces and with the slow twins as oracles; there the extensions are compiled with the sanitizers, too
(`proofs/guided_fuzz/`). More than 30 s or 3 GiB for one input is a finding, too. The corpora are in
`tests/data/fuzz/`: right files, and the smallest inputs that grew from them.
"""
FINDINGS = places.CORPORA / "findings.md"


def _tool(name):
    made = subprocess.run(
        [clang(), f"--print-prog-name={name}"], capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


def c_coverage():
    """Lines and regions of each file of pyx/ that the committed corpora reach: totals and those
    reached.
    """
    folder = places.WORK / "profiles"
    folder.mkdir(parents=True, exist_ok=True)
    profiles, programs = [], []
    for name, target in C_TARGETS.items():
        programs.append(build(target, "covered"))
        profiles.append(folder / f"{name}.profraw")
        environment = os.environ | {"LLVM_PROFILE_FILE": str(profiles[-1])}
        command = [programs[-1], "-runs=0", places.corpus(name, committed=True)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
    merged = folder / "all.profdata"
    subprocess.run([_tool("llvm-profdata"), "merge", *profiles, "-o", merged], check=True)
    others = [part for program in programs[1:] for part in ("-object", program)]
    command = [
        _tool("llvm-cov"),
        "export",
        "-summary-only",
        f"-instr-profile={merged}",
        programs[0],
        *others,
    ]
    exported = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    files = {Path(one["filename"]): one["summary"] for one in exported["data"][0]["files"]}
    return {
        path.name: [(of[kind]["count"], of[kind]["covered"]) for kind in ("lines", "regions")]
        for path, of in sorted(files.items())
        if ROOT / "pyx" in path.resolve().parents and of["lines"]["count"]
    }


def python_coverage():
    """Inputs of readers, and lines of the rooms that read."""
    command = [sys.executable, "-m", "guided_fuzz.python_coverage"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def row(*cells):
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def share(total, reached):
    """A part of a whole."""
    return f"{reached:,} of {total:,}", f"{100 * reached / max(total, 1):.1f} %"


def _runs():
    """A table of the recorded runs, target by target."""
    of_target = defaultdict(list)
    for one in ledger.recorded():
        of_target[one.target].append(one)
    yield row(
        "target",
        "kind",
        "inputs in the corpus",
        "executions",
        "processor",
        "executions a second of it",
        "clock",
        "findings",
    )
    yield row(*["---"] * 8)
    for name in (*C_TARGETS, *NAMES):
        runs = of_target[name]
        done, cpu = sum(one.executions for one in runs), sum(one.cpu for one in runs)
        kind = "C" if name in C_TARGETS else "kernels" if name in NAMES_OF_KERNELS else "reader"
        cells = (
            f"{done:,}",
            f"{cpu:,.0f} s",
            f"{done / cpu if cpu else 0:,.0f}",
            f"{sum(one.seconds for one in runs):,.0f} s",
        )
        yield row(
            f"`{name}`",
            kind,
            len(places.inputs(name)),
            *cells,
            sum(bool(one.found) for one in runs),
        )
    runs = ledger.recorded()
    cpu, clock = sum(one.cpu for one in runs) / 3600, sum(one.seconds for one in runs) / 3600
    yield ""
    yield (
        f"In all {sum(one.executions for one in runs):,} executions in {cpu:.2f} hours of the processor and"
        f" {clock:.2f} hours of the clock; other work had the processor for the rest."
        " A finding here is a run that ended with one."
    )


def lines():
    """The page."""
    of_c, python = c_coverage(), python_coverage()
    yield HEAD
    yield "## What was run\n"
    yield from _runs()
    yield "\n## What was found\n"
    yield FINDINGS.read_text(encoding="utf-8").strip()
    yield "\n## What the committed corpora reach\n"
    yield "C, by `llvm-cov`; a header of a loop counts once for all instruction sets that it is compiled for:\n"
    yield row("file of pyx/", "lines", "", "regions", "")
    yield row(*["---"] * 5)
    for name, (of_lines, regions) in of_c.items():
        yield row(f"`{name}`", *share(*of_lines), *share(*regions))
    yield f"\nPython, by coverage.py over the {python['inputs']} inputs of readers, lines that run at import included:\n"
    yield row("room of rmqalloc/", "lines", "")
    yield row(*["---"] * 3)
    for name, counts in python["rooms"].items():
        yield row(name, *share(*counts))


def coverage(report):
    """Print the page, and write it into a file if there is one."""
    text = "\n".join(lines()) + "\n"
    print(text)
    if report:
        Path(report).write_text(text, encoding="utf-8")
    return 0
