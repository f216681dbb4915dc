"""The page of promises."""

import html
import re

from checkout import ROOT

from promises import verdicts

PAGE = ROOT / "docs" / "promises.md"
HEAD = """---
search:
  exclude: true
---

# Promises and the tests that hold them

`python -m promises` (`proofs/promises/`) makes this page from the documentation, the docstrings and the tests. A promise is a
sentence that a user relies on: a sentence of a page that states a rule without exception (*always*, *refused*, *at most*, *exit
code* and similar words), the summary of a public function or class that is more than data or an error, and each error that its
docstring lists under *Raises*. Sentences that use those words of RocketMQ, Spark or Kubernetes, or to explain an algorithm, are
listed in `proofs/promises/descriptions.py` and left out.

A test names the sentence that it holds in a marker, `@pytest.mark.holds(page or public name, words of the sentence)`; a test
fails when those words no longer stand there. A summary is also held by its example, which the tests run, and by each test
that killed a mutant in its code; an error is also held by each test that calls the name and expects that error.

*Mutants killed* counts the machine-made mutants of the last run that these tests were the first to detect, and for the summary
of a name those in its code (`proofs/mutation/verdicts.tsv`). A run tries a sample, so 0 says little. Every test was looked at
before it was marked; whether it holds every word of a sentence is a judgement.
"""
MOST_TESTS = 3


def cell(text):
    """Return a text as a cell of a table: nothing of it is markup."""
    return re.sub(r"([\\|*_`\[])", r"\\\1", html.escape(text, quote=False))


def tests_cell(promise):
    """Return the tests of a promise, the first few by name."""
    shown = [f"`{test.removeprefix('tests/')}`" for test in promise.tests[:MOST_TESTS]]
    more = len(promise.tests) - len(shown)
    shown += [f"{more} more"] if more else []
    return ", ".join([*shown, *(["its example"] if promise.has_example else [])])


def room_of(where):
    """Return the heading below which a promise stands: its page, or the package of its name."""
    return where if where.endswith(".md") else where.rpartition(".")[0]


def rooms_of(promises):
    """Return the promises by their heading."""
    rooms = {}
    for one in promises:
        rooms.setdefault(room_of(one.where), []).append(one)
    return rooms


def counts(rooms):
    """Yield the table of counts."""
    yield from (
        "| page or package | promises | with a test | without |",
        "| --- | ---: | ---: | ---: |",
    )
    everything = [one for promises in rooms.values() for one in promises]
    for room, promises in [
        *((f"`{room}`", promises) for room, promises in rooms.items()),
        ("all", everything),
    ]:
        held = sum(one.is_held for one in promises)
        yield f"| {room} | {len(promises)} | {held} | {len(promises) - held} |"


def table(room, promises):
    """Yield the table of a page or package: what is promised and which tests hold it."""
    yield from (
        "",
        f"### `{room}`",
        "",
        "| promise | held by | mutants killed |",
        "| --- | --- | ---: |",
    )
    for one in promises:
        name = "" if one.where == room else f"`{one.where.removeprefix(room + '.')}`: "
        yield f"| {name}{cell(one.text)} | {tests_cell(one)} | {one.killed} |"


def page(promises):
    """Return the text of the page."""
    open_ones = [one for one in promises if not one.is_held]
    tried = len(verdicts.of_last_run())
    by_example = sum(one.is_held and not one.tests for one in promises)
    lines = [
        HEAD,
        f"**{len(promises)} promises, {len(open_ones)} without a test;** {by_example} have only an example that is run.",
    ]
    lines += [f"{tried} mutants were tried.", ""]
    lines += [*counts(rooms_of(promises)), "", "## Promises without a test", ""]
    lines += [f"- `{one.where}`: {cell(one.text)}" for one in open_ones] or ["None."]
    lines += ["", "## Promises with a test"]
    for room, held in rooms_of([one for one in promises if one.is_held]).items():
        lines += table(room, held)
    return "\n".join(lines) + "\n"
