"""CPython without its interpreter lock, built from Debian's source."""

import subprocess

CONFIGURE = ("-q", "--disable-gil", "--disable-test-modules", "--with-ensurepip=no")
QUICK = "-DNDEBUG -O1 -g1 -fwrapv"
"""Options of a compiler that saves its own time: without profiles and without link-time optimisation."""

LEFT_OUT = """*disabled*
_bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _curses _curses_panel _dbm _decimal _elementtree
_gdbm _lsprof _lzma _multibytecodec _sqlite3 _tkinter _uuid _zoneinfo readline syslog xxlimited xxlimited_35
"""
"""Modules of the standard library that nothing here needs."""


def built(source, folder, name):
    """The interpreter, built once into a folder, without pip, which Debian's source has for virtual
    environments alone.
    """
    prefix, objects = folder / name, folder / f"{name}-objects"
    executable, complete = prefix / "bin" / "python3", folder / f"{name}-complete"
    if complete.exists():
        return executable
    (objects / "Modules").mkdir(parents=True, exist_ok=True)
    (objects / "Modules" / "Setup.local").write_text(LEFT_OUT)
    make = ["make", "-s", "-j2", f"OPT={QUICK}"]
    configure = [source / "configure", *CONFIGURE, f"--prefix={prefix}"]
    with open(folder / f"{name}.log", "w") as log:
        for command in (configure, make, [*make, "install"]):
            subprocess.run(
                ["nice", "-n", "10", *command], cwd=objects, stdout=log, stderr=log, check=True
            )
    complete.touch()
    return executable
