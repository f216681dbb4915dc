"""CPython without its interpreter lock, built from Debian's source, and what ThreadSanitizer says
of threads in it.
"""

import os
import re
import subprocess
from pathlib import Path

from checkout import ROOT

CONFIGURE = ("-q", "--disable-gil", "--disable-test-modules", "--with-ensurepip=no")
PLAIN_ADDRESSES = ("setarch", os.uname().machine, "-R")
"""ThreadSanitizer knows only addresses that are not chosen by chance."""

QUICK = "-DNDEBUG -O1 -g1 -fwrapv"
"""Options of a compiler that saves its own time: without profiles and without link-time optimisation."""

LEFT_OUT = """*disabled*
_bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _curses _curses_panel _dbm _decimal _elementtree
_gdbm _lsprof _lzma _multibytecodec _sqlite3 _tkinter _uuid _zoneinfo readline syslog xxlimited xxlimited_35
"""
"""Modules of the standard library that nothing here needs."""

SANITIZED = "-fsanitize=thread -g1"
SANITIZED_MAKE = ("CONFIGURE_LDFLAGS=-fsanitize=thread", "COMPILEALL_OPTS=-x .")
"""Debian's build forgets what configure adds to LDFLAGS; compiling all of the library beforehand would take long in it."""

SUPPRESSIONS = ("Tools/tsan/suppressions.txt", "Tools/tsan/suppressions_free_threading.txt")
OURS = re.compile(
    r"\((?:{})\.cpython-".format(
        "|".join(
            ["_cython_memoryviews", *sorted(path.stem for path in (ROOT / "pyx").glob("*.pyx"))]
        )
    )
)
"""A frame in one of this package's modules: a report names the file of a frame's code without its folder."""

REPORT = re.compile(r"^={18}\nWARNING: ThreadSanitizer: (.*?)^={18}", re.MULTILINE | re.DOTALL)


def built(source, folder, name, sanitizer=False):
    """The interpreter, built once into a folder, without pip, which Debian's source has for virtual
    environments alone.

    With ThreadSanitizer it is built by clang.
    """
    prefix, objects = folder / name, folder / f"{name}-objects"
    executable, complete = prefix / "bin" / "python3", folder / f"{name}-complete"
    if complete.exists():
        return executable
    (objects / "Modules").mkdir(parents=True, exist_ok=True)
    (objects / "Modules" / "Setup.local").write_text(LEFT_OUT)
    more = ["--with-thread-sanitizer"] if sanitizer else []
    make = ["make", "-s", "-j2", f"OPT={QUICK}", *(SANITIZED_MAKE if sanitizer else ())]
    steps = (
        [source / "configure", *CONFIGURE, *more, f"--prefix={prefix}"],
        make,
        [*make, "install"],
    )
    variables = {"CC": "clang", "TSAN_OPTIONS": "report_bugs=0"} if sanitizer else {}
    with open(folder / f"{name}.log", "w") as log:
        for command in steps:
            subprocess.run(
                ["nice", "-n", "10", *PLAIN_ADDRESSES, *command], cwd=objects, env=os.environ | variables,
                stdout=log, stderr=log, check=True,
            )  # fmt: skip
    complete.touch()
    return executable


def sanitizer_variables(source, folder):
    """Settings of a process under ThreadSanitizer: CPython's own list of what it knows, and where
    reports go.
    """
    known = folder / "suppressions.txt"
    known.write_text(
        "".join(
            (source / name).read_text() + "\n" for name in SUPPRESSIONS if (source / name).exists()
        )
    )
    options = (
        f"suppressions={known} log_path={folder}/races exitcode=0 halt_on_error=0 history_size=4"
    )
    return {"TSAN_OPTIONS": options}


def sanitizer_compiler():
    """Variables with which a wheel is compiled for it."""
    return {
        "CC": "clang",
        "LDSHARED": "clang -shared",
        "CFLAGS": SANITIZED,
        "LDFLAGS": "-fsanitize=thread",
    }


def races(folder):
    """Take the reports of ThreadSanitizer away: all, and those with a frame of this package's in
    one of the two accesses.
    """
    reports = []
    for path in sorted(Path(folder).glob("races.*")):
        reports += REPORT.findall(path.read_text(errors="replace"))
        path.unlink()
    return reports, [one for one in reports if OURS.search(accesses(one))]


def accesses(report):
    """The two stacks of a report that met, without those that say where threads and memory were
    made.
    """
    parts = re.split(r"\n\s*\n", report)
    return "\n".join(part for part in parts if re.search(r"(?:[Ww]rite|[Rr]ead) of size", part))
