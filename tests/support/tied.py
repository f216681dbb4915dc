"""Programs that end with the process that started them, however it ends: a test run leaves no
server behind.
"""

import ctypes
import os
import signal
import subprocess
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def popen(command: list[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program that the kernel ends as soon as the thread that starts it here ends, be it by
    SIGKILL.

    Fixtures and context managers end servers in good order; this is for runs that do not get that
    far. Linux alone can do it; elsewhere a run that is killed leaves its servers, as any program
    would.
    """
    parent = os.getpid()

    def tie() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it ended before the kernel knew
                os._exit(1)

    return subprocess.Popen(command, preexec_fn=tie, **options)
