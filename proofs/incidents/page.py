"""The page of incidents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from incidents.stage import Played

HEAD = """# Incidents on a real cluster: what `check` says

`make evidence`, or `python -m incidents --report build/evidence/incidents.md`.

Two brokers of RocketMQ 5.5.0 with their default times and real Java clients on loopback, every incident with groups of its own.
`rmqalloc check -n ... -g GROUP` is run again and again from the incident on, as JSON and as text. An answer is *right* if it
has the exit code and the findings of the second column, and no error or warning besides; no answer before may be false: no
all-clear, no error about what is only not known, no queue under two rules that exclude each other. The seconds are those until
the right answer, with the time of the reading, on a machine that others used as well. Clients rebalance and send heartbeats
every second, those of the new group every 20 to 30 s, as clients do by default.
"""
_HOST = re.compile(r"\d+\.\d+\.\d+\.\d+(?=@)")


def page(played: Sequence[Played], seconds: float) -> str:
    """All of it."""
    n_answers = sum(one.n_answers for one in played)
    n_wrong = sum(bool(one.wrong) for one in played)
    return "\n".join(
        [
            HEAD,
            "| incident | right is | what check says | exit code | right? | seconds until said |",
            "| --- | --- | --- | ---: | --- | ---: |",
            *map(_row, played),
            "",
            *_notes(played),
            "",
            f"{len(played)} incidents, {n_answers} answers, {n_wrong} wrong. {seconds:.0f} s in all.",
            "",
        ]
    )


def _row(one: Played) -> str:
    is_right = "yes" if not one.wrong else "**no**: " + "; ".join(one.wrong)
    cells = (
        one.incident,
        one.right.words,
        _said(one),
        str(one.said.code),
        is_right,
        f"{one.seconds:.1f}",
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _said(one: Played) -> str:
    """The headline, and every finding in a few words."""
    findings = (
        f"{each['severity']} `{each['rule']}`: {_first_sentence(each['message'])}"
        for each in one.said.findings
    )
    return "; ".join([f"“{one.said.headline}”", *findings])


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")


def _notes(played: Iterable[Played]) -> Iterator[str]:
    """What else was seen, and what was said before the right answer."""
    for one in played:
        before = [f"{_cell(words)} after {seconds:.1f} s" for words, seconds in one.before.items()]
        notes = [*one.notes, *(["said before: " + ", then ".join(before)] if before else [])]
        if notes:
            yield f"- {_cell(one.incident)}: {'; '.join(notes)}."


def _cell(text: str) -> str:
    return _HOST.sub("HOST", text).replace("|", "\\|").replace("\n", " ")
