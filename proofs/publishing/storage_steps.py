"""Processes that stop, fail or die at the n-th of their steps at storage, and readers that look all the time."""

import errno
import os
import signal
import sys
import time
import traceback
from contextlib import suppress

EVENTS = {"os.mkdir", "os.link", "os.rename", "os.remove", "os.rmdir", "os.listdir", "open"}
"""What Python reports of its own steps at storage; bringing to the disk is none of them, and counted apart."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
"""A file that is opened to be read is no step: nothing depends on when."""


def watched(root, at, what):
    """From here on this process counts its steps below a folder, and at the ``at``-th it is told ``what`` to do.

    Returns
    -------
    list of int
        Steps so far.
    """
    count = [0]

    def step():
        count[0] += 1
        if count[0] == at:
            what()

    def heard(event, arguments):
        is_here = event in EVENTS and str(arguments[0] if arguments else "").startswith(root)
        if is_here and (event != "open" or arguments[2] & _WRITES):
            step()

    real = os.fsync

    def fsync(descriptor):
        step()
        real(descriptor)

    sys.addaudithook(heard)
    os.fsync = fsync
    return count


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def sleep():
    os.kill(os.getpid(), signal.SIGSTOP)


def full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Child:
    """A process forked from this one that runs a function; a traceback of it is shown."""

    def __init__(self, function, *arguments):
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            code = function(*arguments) or 0
        except OSError as error:  # what the job tells people in a line
            code = 3 if error.errno == errno.ENOSPC else 4
            if code == 4:
                traceback.print_exc()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def ended(self):
        """Its exit code; minus the signal that killed it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def stopped_or_ended(self):
        """None if it sleeps, else as `ended`."""
        status = os.waitpid(self.pid, os.WUNTRACED)[1]
        return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)

    def wake(self):
        os.kill(self.pid, signal.SIGCONT)

    def kill(self):
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Reader:
    """A process that looks at something all the time, until it is told to stop; ``look`` answers what it saw."""

    def __init__(self, look):
        self.ends = os.pipe()
        self.child = Child(self._read, look)
        os.close(self.ends[1])

    def _read(self, look):
        os.close(self.ends[0])
        seen, parent = {}, os.getppid()
        going = [True]
        signal.signal(signal.SIGTERM, lambda *_: going.clear())
        while going and os.getppid() == parent:
            found = look()
            seen[found] = seen.get(found, 0) + 1
            time.sleep(0.01)
        os.write(self.ends[1], repr(seen).encode())

    def stop(self):
        """How often it saw what."""
        os.kill(self.child.pid, signal.SIGTERM)
        text = b""
        while part := os.read(self.ends[0], 1 << 16):
            text += part
        os.close(self.ends[0])
        assert self.child.ended() == 0
        return eval(text)
