"""Every step of the job on a disk as the one where it is killed, sleeps while others work, or finds the disk full."""

import itertools
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from publishing import disk_runs
from publishing.storage_steps import Child, Reader, die, full, sleep, watched
from rmqalloc import store
from spark_udfs.job import _output_layout as output_layout

FORCE = {"force": True}
store.locked.__wrapped__.__defaults__ = (
    0.2,
)  # a sleeper may hold the lock: nobody here waits for it for half a minute


class Proof:
    """Counts of what was tried and seen; ``every`` takes each n-th step only.

    Attributes
    ----------
    lost, half, twice : int
        Plans that were complete and are no more, or that a rerun could not complete; looks that saw neither all nor nothing;
        looks that saw rows of a table more than once.
    """

    def __init__(self, where, every=1):
        self.where, self.every = Path(where), every
        self.found = disk_runs.write_fleet(self.where / "fleet")
        self.lost = self.half = self.twice = self.looks = self.replaced = 0
        self.rows = []
        self._folders = itertools.count()

    def out(self):
        return str(self.where / f"out-{next(self._folders)}")

    def n_steps(self, prepare, **how):
        """Steps of a run that nothing happens to."""
        out = self.out()
        prepare(out)
        ends = os.pipe()

        def counted():
            count = watched(out, 0, die)
            disk_runs.job(self.found, out, **how)
            os.write(ends[1], str(count[0]).encode())

        assert Child(counted).ended() == 0
        return int(os.read(ends[0], 100))

    def start(self, out, at, what, **how):
        def run():
            watched(out, at, what)
            disk_runs.job(self.found, out, **how)

        return Child(run)

    def run(self, out, **how):
        """A run that nothing happens to; whether it said that all is well."""
        return Child(disk_runs.job, self.found, out).ended() == 0 if not how else self._run(out, how)

    def _run(self, out, how):
        return Child(lambda: disk_runs.job(self.found, out, **how)).ended() == 0

    @contextmanager
    def read(self, out, before):
        """Readers look while the block runs: they see what was there before, or all."""
        readers = [Reader(lambda: disk_runs.by_manifest(out)), Reader(lambda: disk_runs.by_path(out))]
        try:
            yield
        finally:
            seen, listed = (reader.stop() for reader in readers)
            self.replaced += listed.pop(None, 0)
            self.looks += sum(seen.values()) + sum(listed.values())
            rows = {disk_runs.WHOLE[0], before[0]}
            self._half_seen(
                "the manifest", {what: n for what, n in seen.items() if what not in (before, disk_runs.WHOLE)}
            )
            self._half_seen("the plain path", {what: n for what, n in listed.items() if what not in rows})

    def _half_seen(self, where, looks):
        self.half += sum(looks.values())
        for what, n in looks.items():
            print(f"half seen by {where} at {n} looks: {what}", flush=True)

    def check(self, out, code=True):
        """The plan is whole, by its manifest and by its path."""
        is_whole = disk_runs.by_manifest(out) == disk_runs.WHOLE and disk_runs.by_path(out) == disk_runs.ROWS
        self.lost += not (is_whole and code)

    def note(self, what, n_points, started):
        self.rows.append((what, n_points, time.monotonic() - started))
        print(
            f"{what}: {n_points} points, {self.lost} lost, {self.half} half seen, {self.rows[-1][2]:.0f} s", flush=True
        )

    def steps(self, n_steps):
        return range(1, n_steps + 2, self.every)


def nothing(_out):
    """No plan is there yet."""


def complete(proof, **how):
    """A complete plan is there."""

    def prepare(out):
        assert proof.run(out, **how)

    return prepare


def killed(proof, what, prepare, before, **how):
    """Killed at every step, then run again."""
    started = time.monotonic()
    points = proof.steps(proof.n_steps(prepare, **how))
    for at in points:
        out = proof.out()
        prepare(out)
        with proof.read(out, before):
            proof.start(out, at, die, **how).ended()
            now = disk_runs.by_manifest(out)
            proof.half += now not in (before, disk_runs.WHOLE)
            proof.lost += before == disk_runs.WHOLE and now != disk_runs.WHOLE
            code = proof.run(out, **how)
        proof.check(out, code)
    proof.note(what, len(points), started)


def overtaken(proof, what, prepare, before, others, **how):
    """Asleep at every step while others run from beginning to end, then awake."""
    started = time.monotonic()
    points = proof.steps(proof.n_steps(prepare, **how))
    for at in points:
        out = proof.out()
        prepare(out)
        with proof.read(out, before):
            zombie = proof.start(out, at, sleep, **how)
            code = zombie.stopped_or_ended()
            codes = [proof.run(out, **other) for other in others]
            after = disk_runs.by_manifest(out)
            if code is None:
                zombie.wake()
                code = zombie.ended()
            proof.lost += after == disk_runs.WHOLE and disk_runs.by_manifest(out) != disk_runs.WHOLE
        proof.check(out, code == 0 and all(codes))
    proof.note(what, len(points), started)


def three_writers(proof, **how):
    """Two sleep at steps of their own while a third runs; they wake in either order."""
    started = time.monotonic()
    n_steps = proof.n_steps(nothing, **how)
    some = list(range(1, n_steps + 1, max(1, n_steps // (8 if proof.every == 1 else 2))))
    pairs = list(itertools.product(some, some))
    for at, (first, second) in enumerate(pairs):
        out = proof.out()
        with proof.read(out, disk_runs.NOTHING):
            zombies = []
            for step in (first, second):
                zombie = proof.start(out, step, sleep, **how)
                zombies.append((zombie, zombie.stopped_or_ended()))
            codes = [0 if proof.run(out, **how) else 1]
            for zombie, code in zombies[:: 1 if at % 2 else -1]:
                if code is None:
                    zombie.wake()
                    code = zombie.ended()
                codes.append(code)
        proof.check(out, not any(codes))
    proof.note("three writers, two asleep at steps of their own", len(pairs), started)


def together(proof, rounds, n_writers, **how):
    """Started at once, nobody held up."""
    started = time.monotonic()
    for _ in range(rounds):
        out = proof.out()
        with proof.read(out, disk_runs.NOTHING):
            writers = [proof.start(out, 0, die, **how) for _ in range(n_writers)]
            codes = [writer.ended() for writer in writers]
        proof.check(out, not any(codes))
    proof.note(f"{n_writers} writers at once, {rounds} times", rounds, started)


def swept(proof):
    """Asleep at every step with --force while leftovers of that day are swept, and the sleeper's files with them."""
    started = time.monotonic()
    prepare = complete(proof)
    points = proof.steps(proof.n_steps(prepare, **FORCE))
    for at in points:
        out = proof.out()
        prepare(out)
        zombie = proof.start(out, at, sleep, **FORCE)
        code = zombie.stopped_or_ended()
        then = time.time() - 2 * output_layout.DAY
        for path in [Path(out), *Path(out).rglob("*")]:
            os.utime(path, (then, then))
        with proof.read(out, disk_runs.WHOLE):
            sweeper = proof.run(out)
            if code is None:
                zombie.wake()
                code = zombie.ended()
        # A sleeper whose files were taken away may fail; the plan may not.
        proof.check(out, sweeper and code in (0, 4))
    proof.note("leftovers swept while a run with --force sleeps", len(points), started)


def no_space(proof):
    """No space at every step of a run with --force: an error, and the plan that was there."""
    started = time.monotonic()
    prepare = complete(proof)
    points = proof.steps(proof.n_steps(prepare, **FORCE))
    for at in points:
        out = proof.out()
        prepare(out)
        with proof.read(out, disk_runs.WHOLE):
            code = proof.start(out, at, full, **FORCE).ended()
            proof.lost += disk_runs.by_manifest(out) != disk_runs.WHOLE
        proof.check(out, code in (0, 3) and proof.run(out, **FORCE))
    proof.note("no space at one step", len(points), started)


def small_disk(proof):
    """A disk of every size up to one that is enough; False if none may be mounted here."""
    started = time.monotonic()
    disk_at = proof.where / "small"
    disk_at.mkdir()
    sizes = range(16, 400, 12 * proof.every)
    for n_kib in sizes:
        command = ["mount", "-t", "tmpfs", "-o", f"size={n_kib}k", "tmpfs", str(disk_at)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return False
        try:
            out = str(disk_at / "out")
            code = Child(disk_runs.job, proof.found, out).ended()
            now = disk_runs.by_manifest(out)
            proof.half += now not in (disk_runs.NOTHING, disk_runs.WHOLE)
            if now == disk_runs.WHOLE:
                code = Child(lambda out=out: disk_runs.job(proof.found, out, force=True)).ended()
                proof.lost += disk_runs.by_manifest(out) != disk_runs.WHOLE
            subprocess.run(["mount", "-o", "remount,size=4m", str(disk_at)], check=True)
            proof.check(out, code in (0, 3) and proof.run(out))
        finally:
            subprocess.run(["umount", "-l", str(disk_at)], check=True)
    proof.note("a disk (tmpfs) of too little space", len(sizes), started)
    return True


def prove(proof):
    """All of it."""
    plain = {"conditional": False}
    killed(proof, "killed", nothing, disk_runs.NOTHING)
    killed(proof, "killed with --force", complete(proof), disk_runs.WHOLE, **FORCE)
    killed(proof, "killed, no conditional writes", nothing, disk_runs.NOTHING, **plain)
    for what, how in (("", {}), (", no conditional writes", plain)):
        overtaken(proof, f"asleep while another runs{what}", nothing, disk_runs.NOTHING, [how], **how)
        overtaken(
            proof, f"--force asleep while another --force runs{what}", complete(proof, **how), disk_runs.WHOLE,
            [FORCE | how], **FORCE, **how,
        )  # fmt: skip
        overtaken(
            proof, f"asleep while another and --force run{what}", nothing, disk_runs.NOTHING, [how, FORCE | how], **how
        )
    three_writers(proof)
    together(proof, 30 // proof.every or 2, 2)
    together(proof, 30 // proof.every or 2, 3)
    swept(proof)
    no_space(proof)
    return small_disk(proof)
