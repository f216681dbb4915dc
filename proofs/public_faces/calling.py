"""One process that calls faces: ``python -m public_faces.calling SEED FIRST STOP SECONDS LOG``,
extensions under sanitizers.

Call ``n`` of a seed is the same whoever makes it. Two bytes of the log say of every call which face
it was and what came of it: the first is written before the call, so a process that dies names the
call that it died of.
"""

import json
import os
import signal
import sys
import time
import traceback
import warnings
from random import Random

import numpy as np

from public_faces import called, signs
from public_faces.world import World

REFUSED, ANSWERED, FOUND = b"r", b"a", b"f"
NAMES = sorted(called.FACES)
MOST_SECONDS = 60
"""Wall seconds of one call."""


def call(world, seed, number):
    """Name of the face, what came of it, and what is wrong, if anything is."""
    random = Random(f"{seed} {number}")
    name = random.choice(NAMES)
    return name, lambda: outcome(name, *called.FACES[name](world, random))


def outcome(name, ask, right):
    """Whether a call was refused or answered, and what is wrong."""
    try:
        found = ask()
    except (*called.ERRORS, *called.ALSO.get(name, ())) as error:
        str(error)
        if right in (signs.REFUSED, signs.ANY) or isinstance(right, signs.Sign):
            return REFUSED, ""
        return FOUND, f"refused ({type(error).__name__}: {error}), and the twin answers {right!r}"
    except Exception:
        return FOUND, traceback.format_exc(limit=-4)
    if right is signs.ANY:
        return ANSWERED, ""
    if right is signs.REFUSED or not _equal(found, right):
        return FOUND, f"answered {found!r}, and the twin {right!r}"
    return ANSWERED, ""


def _equal(found, right):
    return (type(found) is type(right) and found == right) or (
        found == right and not isinstance(right, bool)
    )


def main():
    seed, first, stop, seconds, log = sys.argv[1:]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    world, numbered = World(), {name: number for number, name in enumerate(NAMES)}
    with open(log, "wb", buffering=0) as file:
        for number in range(int(first), int(stop)):
            if time.process_time() > float(seconds):
                break
            name, ask = call(world, seed, number)
            file.write(bytes([numbered[name]]))
            signal.alarm(MOST_SECONDS)  # which ends a process that hangs
            kind, wrong = ask()
            file.write(kind)
            if wrong:
                print(json.dumps([name, number, wrong]), flush=True)
    os._exit(0)  # interpreters that go down under sanitizers are slow at it


if __name__ == "__main__":
    main()
