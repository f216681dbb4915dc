"""What must hold when a writer is killed, interrupted or refused at its n-th call that changes
files.
"""

import signal
from collections import Counter
from itertools import count

from rmqalloc.documents.store import sweep
from spark.writing.order import unsynced
from spark.writing.runs import ALL, ERRORS, FAIL, INTERRUPT, KILL, Place
from spark.writing.writers import NONE, leftovers, seen

NEXT_RUN_EVERY, MANY, SOME = 5, 60, 9
"""Where nothing is left, every so many trials are followed by another run; where something is, all are."""


class Trials:
    """The trials of one writer, counted.

    Attributes
    ----------
    counts : Counter
        Trials by kind, and what was found in them.
    failures : list of str
        Everything that should not be.
    """

    def __init__(self, writer, inputs, home):
        self.writer = writer
        self.place = Place(writer, inputs, home)
        self.counts, self.failures, self.calls = Counter(), [], []
        self.old = self._prepared()
        self.place.reset()
        outcome = self.place.run()
        self.new = seen(writer, self.place.target)
        self.calls = outcome.calls
        self._must(outcome.code == 0 and self.new != self.old, f"an undisturbed run: {outcome}")
        for what in unsynced(self.calls, str(self.place.folder)):
            self._must(False, what)

    def _prepared(self):
        """Let the old content stand in the folder that every trial begins with."""
        if not self.writer.begins_with:
            return NONE
        place = self.place
        place.folder.mkdir()
        outcome = place.run(is_new=False)
        self._must(outcome.code == 0, f"a first run: {outcome}")
        place.before.rmdir()
        place.folder.rename(place.before)
        return seen(self.writer, place.before / self.writer.target)

    def _must(self, holds, what):
        if not holds:
            self.failures.append(f"{self.writer.name}: {what}")

    def run(self, is_quick=False):
        """All trials: all calls of few are killed and meet a full disk; of the rest some."""
        is_of_few = len(self.calls) <= MANY
        step = SOME if not is_of_few else 3 if is_quick or self.writer.is_verb else 1
        for action, name, every in (
            (KILL, "kills", 1 if is_of_few else SOME),
            (INTERRUPT, "interrupts", step),
        ):
            for at in count(1, every):
                if not self._disturbed(at, action, name):
                    break
        for name, (code, kinds) in ERRORS.items():
            for at in count(1, 1 if name == "ENOSPC" and is_of_few else step):
                if not self._refused(at, name, code, kinds):
                    break
        return self

    def quick(self):
        """One kill and one refused call near the end."""
        self._disturbed(max(1, len(self.calls) - 4), KILL, "kills")
        code, kinds = ERRORS["ENOSPC"]
        self._refused(2, "ENOSPC", code, kinds)
        return self

    def _disturbed(self, at, action, name):
        """Kill or interrupt it at a call; False if there are not that many."""
        self.place.reset()
        outcome = self.place.run(kinds=ALL, at=at, action=action)
        killed = action == KILL
        if outcome.code == 0 and (killed or at > 2 * len(self.calls) + 20):
            return False
        if killed:
            self._must(outcome.code == -signal.SIGKILL, f"killed at {at}: {outcome}")
        elif outcome.code == 0 and at > len(self.calls):
            return False
        else:
            self._must(outcome.code in (0, 130), f"interrupted at {at}: {outcome}")
        self.counts[name] += 1
        if not killed:
            self.counts["left by an interrupt"] += bool(leftovers(self.place.folder))
        self._seen_whole(f"{name} at {at}")
        if leftovers(self.place.folder) or self.counts[name] % NEXT_RUN_EVERY == 1:
            self._next_run(f"{name} at {at}")
        return True

    def _seen_whole(self, when):
        found = seen(self.writer, self.place.target)
        if found == NONE and self.writer.may_vanish:
            self.counts["moments without any"] += 1
            sweep(self.place.target)  # as the next writer does before anything else
            found = seen(self.writer, self.place.target)
        self.counts["lost"] += found == NONE != self.old
        self.counts["half seen"] += found not in (NONE, self.old, self.new)
        self._must(
            found in (self.old, self.new), f"{when}: neither the old nor the new but {found}"
        )

    def _next_run(self, when):
        outcome = self.place.run()
        left = leftovers(self.place.folder)
        self.counts["left after the next run"] += len(left)
        whole = outcome.code == 0 and seen(self.writer, self.place.target) == self.new
        self._must(
            whole and not left, f"the run after {when}: {outcome.code} {outcome.said[-300:]} {left}"
        )

    def _refused(self, at, name, code, kinds):
        """Let a call fail; False if there are not that many."""
        self.place.reset()
        outcome = self.place.run(kinds=kinds, at=at, action=FAIL, code=code)
        if len(outcome.calls) < at:
            return False
        call = outcome.calls[at - 1]
        when = f"{name} at {call}"
        self.counts["errors"] += 1
        found = seen(self.writer, self.place.target)
        is_overcome = outcome.code == 0 and found == self.new
        is_told = outcome.code == 1 and str(self.place.target) in outcome.said
        self._must(is_overcome or is_told, f"{when}: {outcome.code} {outcome.said}")
        self._must(
            "Traceback" not in outcome.said and ".new" not in outcome.said,
            f"{when}: {outcome.said}",
        )
        is_in_place = is_overcome or "new content is written" in outcome.said
        self.counts["errors after it took its place"] += is_in_place
        self.counts["lost"] += found == NONE != self.old
        self._must(found == (self.new if is_in_place else self.old), f"{when}: {found}")
        left = leftovers(self.place.folder)
        self.counts["left by an error"] += len(left)
        self._must(not left, f"{when}: left {left}")
        return True
