"""One reader and many inputs."""

import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from fuzz.outcome import Outcome
from fuzz.readers import READERS

MOST_SECONDS = 20
"""An input that takes longer counts as a traceback."""


class TookTooLong(BaseException):
    """The alarm of one input; no reader catches it."""


def run(name, n, seed):
    """Give ``n`` inputs to a reader."""
    reader, random = READERS[name], Random(f"{name} {seed}")
    home = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    path = home / reader.file
    errors, tracebacks = Counter(), {}
    worst, worst_input, risen, risen_input = 0.0, b"", 0, b""
    try:
        for _ in range(n):
            data = reader.make(random)
            path.write_bytes(data)
            before, started = _high_water(), time.perf_counter()
            errors[_one(reader, path, data, tracebacks)] += 1
            seconds = time.perf_counter() - started
            if seconds > worst:
                worst, worst_input = seconds, data
            if (rise := _high_water() - before) > 0:
                risen, risen_input = risen + rise, data
    finally:
        shutil.rmtree(home)
    return Outcome(
        name, n, dict(errors), list(tracebacks.values()), worst, worst_input, risen, risen_input
    )


def _high_water():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _one(reader, path, data, tracebacks):
    """What one input comes to."""

    def alarm(_number, _frame):
        raise TookTooLong(f"more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, alarm)
    rest, _ = signal.setitimer(
        signal.ITIMER_REAL, MOST_SECONDS
    )  # a test has a limit by the same clock
    try:
        reader.read(str(path))
        return "read"
    except reader.errors as error:
        str(error)
        return type(error).__name__
    except (Exception, TookTooLong) as error:
        said = traceback.format_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        tracebacks.setdefault(
            (type(error), where.filename, where.lineno), f"{said}\ninput: {data[:3000]!r}"
        )
        return "traceback"
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, rest)
