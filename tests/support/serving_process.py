"""A process that serves HTTP on a port which it says on standard error; it ends with the block."""

import contextlib
import subprocess
import sys

import tied
from programs import environment


@contextlib.contextmanager
def running(*arguments):
    """A program that says where it serves; it is ended if it has not been."""
    command = [sys.executable, *arguments]
    program = tied.popen(
        command, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        line = program.stderr.readline()
        assert "at http://127.0.0.1:" in line, line + program.stderr.read()
        yield program, int(line.partition("http://127.0.0.1:")[2].partition("/")[0])
    finally:
        program.kill()
        program.communicate()
