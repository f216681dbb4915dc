"""Whether what ``rmqalloc check`` says of an incident is right: nothing here knows of a cluster.

Two things are asked of an answer. It must be *right* within a while: a rule that should find
something does, the exit code is the one that was promised. And no answer from the incident on may
be *false*, the first ones included: an all-clear while queues are unread, an error about what is
only not known, one queue under two rules that exclude each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ONE_OF = ("unowned-queue", "actual-unowned")
"""Rules of which a queue stands under one: nobody takes it, or somebody does and does not own it."""

ALL_CLEAR = "Every written queue"
"""How ``check`` begins the line that all queues are read."""

_HEADLINE = re.compile(r"[0-9,]+ findings?\b")


class Said(NamedTuple):
    """One answer of ``rmqalloc check``, once as JSON and once as people see it.

    Attributes
    ----------
    code, code_of_text : int
        Exit codes of both.
    document : mapping
        ``-o json``; empty if there was none.
    text : str
        Standard output and standard error, empty if only JSON was asked for.
    at : float
        When the JSON was there, by the monotonic clock.
    """

    code: int
    document: Mapping[str, Any]
    text: str = ""
    code_of_text: int | None = None
    at: float = 0.0

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """All findings."""
        found: Sequence[Mapping[str, Any]] = self.document.get("findings", ())
        return found

    @property
    def headline(self) -> str:
        """The line that sums it up."""
        lines = self.text.splitlines()
        return next(
            (line for line in reversed(lines) if _HEADLINE.match(line)), lines[0] if lines else ""
        )

    @property
    def kinds(self) -> set[str]:
        """Kinds of facts that it names as not known."""
        return {one["kind"] for one in self.document.get("not_known", ())}

    @property
    def brief(self) -> str:
        """Exit code and rules, without figures."""
        rules = dict.fromkeys(f"{one['severity']} {one['rule']}" for one in self.findings)
        missing = f" (not known: {', '.join(sorted(self.kinds))})" if self.kinds else ""
        return f"exit code {self.code}, {', '.join(rules) or 'no finding'}{missing}"

    def unknown_queues(self) -> int:
        """Queues of which it is not known whether anybody reads them."""
        reasons = self.document.get("n_queues_by_reason", {})
        return int(reasons.get("unknown", 0) + reasons.get("lite", 0))


@dataclass(frozen=True)
class Right:
    """What is right to say of an incident.

    Attributes
    ----------
    words : str
        The same for people.
    code : int
        Exit code.
    finds : mapping of str to str
        Rules that must find something, and how grave it is; empty where that depends on the age of
        clients.
    may_find : tuple of str
        Rules that may find something besides; nothing else may, but notes.
    queues : mapping of str to int
        Of how many queues a rule speaks.
    waiting : int, optional
        Messages that nobody reads, of all unread rows.
    says : tuple of str
        Parts of what is printed.
    not_known : tuple of str
        Kinds of facts that must be named as not known.
    never : tuple of str
        What must not be printed, now or before.
    no_errors : bool
        Whether an error is false, now or before.
    no_errors_if_not_known : tuple of str
        The same where facts of such a kind are named as not known.
    no_all_clear : bool
        Whether exit code 0, or the line that all queues are read, is false, now or before.
    """

    words: str
    code: int
    finds: Mapping[str, str] = field(default_factory=dict)
    may_find: tuple[str, ...] = ()
    queues: Mapping[str, int] = field(default_factory=dict)
    waiting: int | None = None
    says: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    no_errors: bool = False
    no_errors_if_not_known: tuple[str, ...] = ()
    no_all_clear: bool = False


def missing(right: Right, said: Said) -> list[str]:
    """What an answer lacks to be right; none while it is."""
    return [*_codes(right, said), *_rules(right, said), *_contents(right, said)]


def _codes(right: Right, said: Said) -> Iterator[str]:
    if said.code != right.code:
        yield f"exit code {said.code}, right is {right.code}"
    if said.code_of_text not in (None, said.code):
        yield f"exit code {said.code} with -o json and {said.code_of_text} as text"


def _rules(right: Right, said: Said) -> Iterator[str]:
    grave: dict[str, set[str]] = {}
    for one in said.findings:
        grave.setdefault(one["rule"], set()).add(one["severity"])
    for rule, severity in right.finds.items():
        found = grave.get(rule, set())
        if not found or (severity and severity not in found):
            yield f"no {severity or 'finding'} {rule}"
    allowed = {*right.finds, *right.may_find}
    for rule, severities in grave.items():
        if rule not in allowed and severities != {"note"}:
            yield f"{', '.join(sorted(severities))} {rule}, which is not so"
    for rule, n in right.queues.items():
        queues = {
            _key(queue) for one in said.findings if one["rule"] == rule for queue in one["queues"]
        }
        if len(queues) != n:
            yield f"{rule} of {len(queues)} queues, right is {n}"


def _contents(right: Right, said: Said) -> Iterator[str]:
    waiting = sum(row["messages"] or 0 for row in said.document.get("unread", ()))
    if right.waiting is not None and waiting != right.waiting:
        yield f"{waiting} messages that nobody reads, right is {right.waiting}"
    yield from (
        f"{kind} are not named as not known" for kind in right.not_known if kind not in said.kinds
    )
    yield from (f"{part!r} is not said" for part in right.says if part not in _flat(said))


def false(right: Right, said: Said) -> list[str]:
    """What of an answer is false, whether or not it is the last."""
    return [*_always_false(said), *_false_here(right, said)]


def _always_false(said: Said) -> Iterator[str]:
    if said.code not in (0, 2, 4):
        yield f"exit code {said.code}: {said.text[-300:]}"
    first, second = (
        {
            (one["consumer_group"], _key(queue))
            for one in said.findings
            if one["rule"] == rule
            for queue in one["queues"]
        }
        for rule in ONE_OF
    )
    if both := first & second:
        yield f"{len(both)} queues stand under {' and '.join(ONE_OF)} both"
    if (
        said.code == 0
        and said.unknown_queues()
        and any(one["severity"] != "note" for one in said.findings)
    ):
        yield "exit code 0 beside a finding"


def _false_here(right: Right, said: Said) -> Iterator[str]:
    if right.no_errors or said.kinds & {*right.no_errors_if_not_known}:
        yield from (
            f"error {one['rule']}: {one['message']}"
            for one in said.findings
            if one["severity"] == "error"
        )
    if right.no_all_clear and (said.code == 0 or ALL_CLEAR in said.text):
        yield f"an all-clear, exit code {said.code}"
    yield from (f"{part!r} is said" for part in right.never if part in _flat(said))


def allowed_partial(said: Said, n_unread: int) -> list[str]:
    """What is false of ``check --allow-partial`` while so many queues are unread."""
    return (
        [f"--allow-partial ends with 0 while {n_unread} queues are unread"]
        if n_unread and said.code == 0
        else []
    )


def _flat(said: Said) -> str:
    """All that is said, in one line."""
    texts = (f"{one['message']} {one['advice']}" for one in said.findings)
    return " ".join([*texts, *said.text.split()])


def _key(queue: Mapping[str, Any]) -> tuple[Any, ...]:
    return queue["topic"], queue["broker_name"], queue["queue_id"]
