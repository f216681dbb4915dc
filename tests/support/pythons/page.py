"""What the trials found, as a page."""

HEAD = """# Other Pythons

`make pythons` (`python -m pythons SDIST` in tests/). Every Python built the wheel from the sdist itself, against its own
headers, installed it beside numpy from PyPI, imported every compiled module, replayed all golden answers
(`tests/support/replay_golden.py`) and ran `tests/engine`, `tests/fleet` and the main files of `tests/strategies`; warnings were
errors throughout. Tests that need Java, Go or Spark, those marked slow and those beside the slow twin were left out. *Threads*
is `python -m pythons.stress`: 16 threads over one fleet and one rule of each kind, while another thread changes a list of
queues that they divide; every answer is compared with that of one thread.
"""


def text_of(results):
    """The tables."""
    parts = [
        *table(results), "", *notes(results), "", "## Calls on several threads", "", SCALING, "", *scaling(results),
        *races(results),
    ]  # fmt: skip
    return "\n".join(parts).rstrip()


def is_wrong(found):
    """Did anything fail, or was not what one thread, Java or the tests say?"""
    stress = found.get("stress", {})
    return (
        "stopped" in found
        or found["golden"][1:] != [found["golden"][1], 0]
        or found["tests"]["code"] != 0
        or stress.get("differ") != 0
        or (found["free"] and found["lock"])
        or found.get("races", {}).get("ours", 0) > 0
    )


def table(results):
    """One row for each Python."""
    yield (
        "| Python | version | from | modules imported | golden answers | differ | tests passed | failed "
        "| threads: answers | differ |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for one in results:
        if "golden" not in one:
            yield f"| {one['label']} | | | **stopped** | | | | | | |"
            continue
        tests, stress = one["tests"], one.get("stress", {})
        failed = tests.get("failed", 0) + tests.get("error", 0)
        cells = [one["label"], one["version"], one["origin"], one["modules"], *map(number, one["golden"][1:])]
        cells += [number(tests.get("passed", 0)), number(failed)]
        cells += [number(stress.get("answers", "ended badly")), number(stress.get("differ", "?"))]
        yield f"| {' | '.join(map(str, cells))} |"


def number(value):
    """A number with thousands apart; a text as it is."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def notes(results):
    """What the numbers alone do not say."""
    for one in results:
        said = [f"stopped: {one['stopped']}"] if "stopped" in one else []
        if "packages" in one:
            said.append(f"numpy {one['packages']['numpy']}")
            said.append(f"pyarrow {one['packages']['pyarrow']}" if one["pyarrow"] else "no wheel of pyarrow")
            said.append(f"`{one['wheel']}`, {one['size'] / 1e6:.2f} MB")
            said.append(f"the interpreter lock is {'on' if one['lock'] else 'off, and stays off at import'}")
        if one.get("left out"):
            said.append(f"left out for want of pyarrow: {', '.join(one['left out'])}")
        for why in one.get("refused", []):
            said.append(f"not to be had: {why}")
        said += one.get("failed", [])
        yield f"* **{one['label']}**: {'; '.join(said)}."


SCALING = """`allocate` for one client of a group of 16 queues and 4 clients, thousands of calls a second of all threads
together, the best of five tries that take turns."""


def scaling(results):
    """Rates by number of threads."""
    yield "| Python | rule | 1 thread | 2 threads | 4 threads | 2 over 1 |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for one in results:
        for name, rates in one.get("scaling", {}).items():
            if isinstance(rates, dict):
                first, second, fourth = (rates[n] for n in ("1", "2", "4"))
                cells = [f"{rate / 1000:,.0f}" for rate in (first, second, fourth)]
                yield f"| {one['label']} | {name} | {' | '.join(cells)} | {second / first:.2f} |"


def races(results):
    """What ThreadSanitizer said."""
    for one in results:
        if "races" in one:
            found = one["races"]
            yield from ("", "## ThreadSanitizer", "")
            yield (
                f"CPython and every module of the wheel are compiled by clang with `-fsanitize=thread`; numpy's wheel is not. "
                f"CPython's own suppressions are in force. Over {one['label']}: {number(found['reports'])} reports in all, "
                f"**{found['ours']} with a frame of rmqalloc's compiled code** in one of the two accesses."
            )
