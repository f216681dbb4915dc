"""What the trials found, as a page."""

HEAD = """# Other Pythons

`make pythons` (`python -m pythons SDIST` in proofs/). Every Python built the wheel from the sdist itself, against its own
headers, installed it beside wheels of other packages from the index, imported every compiled module, replayed all golden
answers (`tests/support/replay_golden.py`) and ran `tests/engine`, `tests/fleet` and the main files of `tests/strategies`;
warnings were errors throughout. Tests that need Java, Go or Spark, those marked slow and those of the slow twin were left out.
*Threads* is `python -m pythons.stress`: 16 threads over one fleet and one rule of each kind, while another thread changes a
list of queues that they divide; every answer is compared with that of one thread. No other machine and no other system was
used: all is Linux on x86-64.

PyArrow 24.0.0, the last with a wheel for 3.13t, ends by a segmentation fault when it exports a column of string views that
holds short strings only. It does so on 3.11 too, in ten lines without this package; 26.0.1 does not. Two tests do that,
`test_any_object_that_streams_arrow_will_do` and `test_every_kind_of_text_is_looked_at`; the program leaves them out there.
"""

BEFORE = """## Before

`pyx/ring_of_one.pyx` sized what it fills by a list and then filled it from the same list. The same program of 16 threads, over
the package as it was, was ended by the C library: on 3.13t by "double free or corruption (out)" and "free(): invalid next size
(fast)", and on 3.11 with the interpreter lock with "munmap_chunk(): invalid pointer". Now the kernel takes tuples, which no
thread can change, and the faces read a list once. This was run by hand; `tests/fleet/test_changing_lists.py` holds it."""

SCALING = """Calls of all threads together in a second, and in brackets the processor time of one call: the best of five
tries, in which all Pythons take turns. `allocate` is asked for one client of a thread's own group of 16 queues and 4 clients;
`assign_fleet` divides one fleet of 400 groups that all threads share. The machine has two processors; what else it does
meanwhile takes away from all. The Python without the lock was optimised less than Debian's (`-O1`, no profiles): compare
along a row, not down a column."""


def text_of(results, rates):
    """The tables."""
    parts = [
        *table(results),
        "",
        *notes(results),
        "",
        *refused(results),
        BEFORE,
        "",
        *races(results),
    ]
    return "\n".join([*parts, "", "## Calls on several threads", "", *scaling(rates)]).rstrip()


def is_wrong(found):
    """Did anything fail, or was not what one thread, Java or the tests say?"""
    if "stopped" in found:
        return True
    races = found.get("races")
    return (
        found.get("golden", [0, 0, 0])[2] != 0
        or found["tests"]["code"] != 0
        or found["stress"].get("differ") != 0
        or (found["free"] and found["lock"])
        or (races is not None and (races["ours"] > 0 or not found["control"]["ours"]))
    )


def table(results):
    """One row for each Python; what ran under ThreadSanitizer has a table of its own."""
    yield (
        "| Python | version | from | modules imported | golden answers | differ | tests passed | failed "
        "| threads: answers | differ |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for one in results:
        if "stopped" in one:
            yield f"| {one['label']} | | | **not run** | | | | | | |"
        elif "races" not in one:
            cells = [
                one["label"],
                one["version"],
                one["origin"],
                one["modules"],
                *map(number, one["golden"][1:]),
            ]
            yield f"| {' | '.join(map(str, [*cells, *tested(one), *asked(one)]))} |"


def tested(one):
    """Tests that passed and that failed."""
    tests = one["tests"]
    passed = number(tests["passed"]) if "passed" in tests else f"not to the end ({tests['code']})"
    return passed, number(tests.get("failed", 0) + tests.get("error", 0))


def asked(one):
    """Answers of threads, and how many differ."""
    stress = one["stress"]
    return number(stress.get("answers", f"ended with {stress.get('ended with')}")), number(
        stress.get("differ", "?")
    )


def number(value):
    """A number with thousands apart; a text as it is."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def notes(results):
    """What the numbers alone do not say."""
    for one in results:
        if "stopped" in one:
            yield f"* **{one['label']}**: not run to its end: {one['stopped']}."
            continue
        packages = [
            f"{name} {one['packages'][name]}"
            for name in ("numpy", "pyarrow", "hypothesis")
            if name in one["packages"]
        ]
        said = [", ".join(packages), f"`{one['wheel']}`, {one['size'] / 1e6:.2f} MB"]
        said.append(
            f"the interpreter lock is {'on' if one['lock'] else 'off, and stays off when all modules are imported'}"
        )
        if one["missing"]:
            said.append(f"no wheel of {', '.join(one['missing'])}")
        if one["left out"]:
            said.append(f"left out for want of them: {', '.join(one['left out'])}")
        if one["tests"]["code"] == -15:
            said.append("its tests were ended by hand before their end, for want of time")
        said.append(f"{number(one['tests'].get('skipped', 0))} tests skipped")
        yield f"* **{one['label']}**: {'; '.join(said + one['failed'])}."


def refused(results):
    """Releases without the lock that could not be built, and why."""
    reasons = dict.fromkeys(why for one in results for why in one.get("refused", []))
    if not reasons:
        return
    yield (
        "A newer Python without the lock was to be built from Debian's source, and could not be had. By hand: no suite has one "
        "ready made either (`apt-cache search` for nogil, freethread and free-thread in sid, forky, trixie, trixie-backports "
        "and experimental finds nothing)."
    )
    yield ""
    for why in reasons:
        yield f"* {why}"
    yield ""


def races(results):
    """What ThreadSanitizer said."""
    yield from ("## ThreadSanitizer", "")
    for one in results:
        if "races" in one:
            found, control = one["races"], one["control"]
            yield (
                "CPython and every module of the wheel are compiled by clang with `-fsanitize=thread`; numpy's wheel is not. "
                "CPython's own suppressions are in force. `RMQALLOC_ISA=scalar` was set, as stores of whole vectors are not "
                "seen. *Ours* are reports with a frame of rmqalloc's compiled code in one "
                "of the two stacks that met. The control lets two threads write owners into one place, and must be seen. "
                f"The tests are {', '.join(f'`{name}`' for name in one['test files'])}."
            )
            (answers, differ), (passed, failed) = asked(one), tested(one)
            yield from ("", "| run | reports | ours |", "| --- | ---: | ---: |")
            yield f"| control: one place for two threads | {number(control['reports'])} | {control['ours']} |"
            yield (
                f"| {answers} answers of 16 threads, {differ} differ; tests passed: {passed}, failed: {failed} "
                f"| {number(found['reports'])} | **{found['ours']}** |"
            )
            return
    yield "Not run: see above."


def scaling(rates):
    """Rates by number of threads, and the processor time of one call."""
    if not rates or "stopped" in rates:
        yield f"Not run: {rates.get('stopped', 'nothing was measured')}."
        return
    yield from (SCALING, "", "| job | Python | 1 thread | 2 threads | 4 threads | 2 over 1 |")
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for job, by_python in rates.items():
        for label, by_threads in by_python.items():
            cells = [f"{rate:,.0f} ({cost * 1e6:,.1f} µs)" for rate, cost in by_threads.values()]
            yield f"| {job} | {label} | {' | '.join(cells)} | {by_threads['2'][0] / by_threads['1'][0]:.2f} |"
