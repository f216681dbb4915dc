"""One run of a writer in a forked child, with the preloaded shim counting its calls."""

import ctypes
import errno
import os
import shutil
import signal
import sys
from typing import NamedTuple

OPEN, WRITE, SYNC, RENAME, LINK, REMOVE, MAKE, OTHER = (1 << i for i in range(8))
ALL = 255
COUNT, KILL, INTERRUPT, FAIL = range(4)
CRASHED = 70


def shim():
    library = ctypes.CDLL(os.environ["WRITING_SHIM"])
    library.writing_text.restype = ctypes.c_char_p
    return library


class Outcome(NamedTuple):
    """How a run ended: a signal (negative) or an exit code, what it said, and the calls it made if
    it lived.
    """

    code: int
    said: str
    calls: list


class Place:
    """A folder for trials, and what stands in it before each."""

    def __init__(self, writer, inputs, home):
        self.writer, self.inputs = writer, inputs
        self.before, self.folder, self.notes = home / "before", home / "trial", home / "notes"
        for path in (self.before, self.notes):
            path.mkdir(parents=True)

    @property
    def target(self):
        return self.folder / self.writer.target

    def reset(self):
        """Let stand there what stood there in the beginning."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.before, self.folder)

    def run(self, is_new=True, kinds=ALL, at=0, action=COUNT, code=0, wait=None):
        """Run the writer; ``wait`` is called with the child's process id before it begins."""
        gate, opened = os.pipe()
        child = os.fork()
        if child == 0:
            self._child(gate, is_new, (kinds, at, action, code))
        if wait is not None:
            wait(child)
        os.write(opened, b"g")
        os.close(gate)
        os.close(opened)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        calls = self.notes / "calls"
        lines = (
            [line.split("\t") for line in calls.read_text().splitlines()] if calls.exists() else []
        )
        calls.unlink(missing_ok=True)
        return Outcome(status, (self.notes / "said").read_text(), lines)

    def _child(self, gate, is_new, armed):
        status = CRASHED
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            said = os.open(self.notes / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1), os.dup2(said, 2)
            library = shim()
            os.read(gate, 1)
            library.writing_arm(*armed)
            try:
                status = self.writer.write(self.target, self.inputs, is_new)
            except KeyboardInterrupt:
                status = 130
            except OSError as error:  # of what is no verb: as the command line does
                sys.stderr.write(
                    f"{error.filename}: {error.strerror}\n" if error.errno else f"{error}\n"
                )
                status = 1
            library.writing_disarm()
            if armed[2] in (COUNT, FAIL):
                (self.notes / "calls").write_bytes(library.writing_text())
            sys.stdout.flush(), sys.stderr.flush()
        except BaseException as error:  # must be seen, and must not run on as a second parent
            os.write(2, repr(error).encode())
        finally:
            os._exit(status)


ERRORS = {
    "ENOSPC": (errno.ENOSPC, OPEN | WRITE | SYNC | RENAME | LINK | MAKE),
    "EIO": (errno.EIO, WRITE | SYNC | RENAME | LINK),
    "EDQUOT": (errno.EDQUOT, OPEN | WRITE | SYNC | MAKE),
}
