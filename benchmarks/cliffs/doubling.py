"""Counts the instructions of single calls of a Python program with callgrind, which sleeps while
the rest of it runs.

Callgrind takes commands from the program that it runs: a fixed sequence of instructions, which
nothing but valgrind heeds. It is laid into memory here and called by ctypes. So imports and the
making of inputs, which would take most of the time, run without being instrumented.
"""

import ctypes
import mmap
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

# valgrind.h for x86-64: the address of six words in rax, a default in rdx, four rotations of rdi
# that come to nothing, and an exchange of rbx with itself; the answer is in rdx.
_CODE = bytes.fromhex("4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_ZERO, _DUMP, _START = (0x43540000 + number for number in (1, 0, 4))  # callgrind.h


class Callgrind:
    """Callgrind as the program sees it that runs under it."""

    def __init__(self) -> None:
        if platform.machine() != "x86_64":
            sys.exit(f"instructions are counted on x86_64 alone, this is {platform.machine()}")
        self._page = mmap.mmap(
            -1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        )
        self._page.write(_CODE)
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64)
        self._call = kind(ctypes.addressof(ctypes.c_char.from_buffer(self._page)))

    def _request(self, number: int) -> None:
        self._call((ctypes.c_uint64 * 6)(number), 0)

    def count(self, calls: Iterable[Callable[[], object]]) -> NoReturn:
        """Make calls that are counted, and end the process.

        To start and to stop makes callgrind forget the code that it has translated: all inputs are
        made before it starts, and nothing runs after it.
        """
        ready = list(calls)
        self._request(_START)
        for call in ready:
            self._request(_ZERO)
            call()
            self._request(_DUMP)
        os._exit(0)


def counts_of(module: str, arguments: list[str]) -> list[int]:
    """Instructions of every call that a module makes by `Callgrind.count`, kernels on AVX2."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "RMQALLOC_ISA": "avx2",
        "OMP_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as directory:
        environment["TMPDIR"] = (
            directory  # the process ends by os._exit, and removes no file of its own
        )
        output = f"{directory}/calls"
        options = [
            "--tool=callgrind",
            "--instr-atstart=no",
            "--dump-line=no",
            f"--callgrind-out-file={output}",
        ]
        command = ["valgrind", *options, sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"valgrind failed:\n{done.stderr}")
        dumps = sorted(Path(directory).glob("calls.*"), key=lambda path: int(path.suffix[1:]))
        totals = [
            re.search(r"^summary: (\d+)", path.read_text(), flags=re.MULTILINE) for path in dumps
        ]
    return [int(total[1]) for total in totals if total]
