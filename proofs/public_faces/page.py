"""What was called and found: the page."""

import re
import signal

HEAD = """# Public faces under sanitizers

`make evidence`. Every public function and method that takes indices, masks, offsets or arrays is called with hostile ones:
negative and huge numbers, masks of another length, other types and byte orders, arrays that are not contiguous, not aligned,
read-only, mapped, empty, of two dimensions or of objects, not a number, offsets that decrease, begin below 0 or end past the
values, `out=` in the fleet's own memory, Arrow columns with nulls, slices, other types and damaged buffers. The faces are
found by looking at all public names and their parameters (`proofs/public_faces/listed.py`); a test fails if one is neither
called here nor listed with the reason why not. The extension modules are compiled with clang's address and undefined-behaviour
sanitizers.

A call is right if it is refused by a documented error (one of rmqalloc's, IndexError, TypeError, ValueError), or answered;
where Python's lists or NumPy can say what is right, as they do. A finding is a crash, a report of a sanitizer, another
exception (MemoryError, too), another answer, or a call of more than a minute.
"""


def page(run):
    """The page of a run."""
    names = sorted({name for name, _ in run.counts})
    lines = [HEAD, _row(("face", "calls", "refused", "answered", "findings")), _row(["---"] * 5)]
    for name in names:
        refused, answered, found = (run.counts[name, kind] for kind in "raf")
        lines.append(
            _row(
                (
                    f"`{shown(name)}`",
                    *(f"{n:,}" for n in (refused + answered + found, refused, answered, found)),
                )
            )
        )
    totals = [sum(n for (_, kind), n in run.counts.items() if kind == which) for which in "raf"]
    lines.append(_row(("all", f"{sum(totals):,}", *(f"{n:,}" for n in totals))))
    command = f"`python -m public_faces --seconds {run.seconds:.0f} --seed {run.seed}`"
    lines += [
        "",
        f"{command}, {run.used:,.0f} s of CPU. {meaning(sum(totals), totals[2], len(names))}",
    ]
    for name, number, text in run.findings[:20]:
        lines += [
            "",
            f"`{shown(name)}`, `python -m public_faces --seed {run.seed} --call {number}`:",
            "",
            _quoted(text),
        ]
    return "\n".join(lines) + "\n"


def meaning(n_calls, n_found, n_faces):
    """What the numbers come to, in a sentence."""
    if n_found:
        return f"Of {n_calls:,} calls {n_found:,} did something else than answer rightly or refuse; they stand below."
    return (
        f"In {n_calls:,} calls of {n_faces} faces no argument led a kernel out of its memory, and no answer differs from the "
        "slow twin's."
    )


def shown(name):
    """The name of a face without the private module that defines it:
    ``rmqalloc.fleet.Fleet.select``.
    """
    return re.sub(r"\._[a-z]\w*(?=\.)", "", name)


def of_crash(code, stderr):
    """Why a process ended, in the words of the sanitizer or of the signal."""
    found = re.findall(
        r"^(?:SUMMARY: .*|.*runtime error: .*|==\d+==ERROR: .*)$", stderr, re.MULTILINE
    )
    if code == -signal.SIGALRM:
        return "more than a minute for one call"
    frames = re.findall(r"^ +#\d .*$", stderr, re.MULTILINE)[:6]
    return "\n".join([*found[-2:], *frames]) or f"ended with {code}: {stderr[-500:]}"


def _quoted(text):
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-14:])


def _row(cells):
    return f"| {' | '.join(cells)} |"
