"""What the verbs say of the groups once their members agree: every owner is right, a change is
planned, and nothing is found that no event caused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clusters.beside_java.stage import Group, Stage, Tables
from clusters.incidents.stage import run_cli
from rmqalloc import MessageQueue

RIGHT_WITHIN = 120.0
"""Seconds until the verbs are right: a new group's members find its retry topic after a poll of routes and a pass."""
LOOKS_EVERY = 1.0
NEVER = "mixed-"
"""How rules begin that find nothing on this stage, not even while members do not agree: all members of a group are alike."""
NOT_REPORTED = "virtual nodes explain"
"""Part of the doubt that is right of a ring: no client reports its virtual nodes, and the owners of a few queues may not
tell.
"""


class Right(NamedTuple):
    """What is right to say of a group: who owns each queue, and what may be found."""

    owners: Mapping[MessageQueue, str]
    n_clients: int
    may_find: frozenset[str] = frozenset()

    @property
    def verdict(self) -> str:
        """What ``guard`` is to say of any client: nobody takes over from the last one."""
        return "yes" if self.n_clients > 1 else "no"


@dataclass
class Said:
    """What the verbs say of a group.

    Attributes
    ----------
    findings : list of mapping
        Of ``check``.
    not_known : list of str
        What ``check`` names as not known.
    owners : mapping of MessageQueue to tuple
        Owners by ``show``, and how they are known.
    plans : list of mapping
        Units of ``plan``; none where it refuses.
    explained : tuple
        A queue, and its owner by ``explain``; None where it refuses.
    guards : mapping of str to str
        Verdict and reason of ``guard``, by client id.
    refusals : list of str
        What verbs that did not answer print.
    doubt : str or None
        Why the strategy is in doubt, so that it was stated to the verbs that plan.
    """

    findings: list[Mapping[str, Any]] = field(default_factory=list)
    not_known: list[str] = field(default_factory=list)
    owners: dict[MessageQueue, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    plans: list[Mapping[str, Any]] = field(default_factory=list)
    explained: tuple[MessageQueue, str | None] | None = None
    guards: dict[str, tuple[str, str]] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    doubt: str | None = None


class Look(NamedTuple):
    """What was seen of a group after an event: seconds until all was right, what is wrong, which
    rules found something before, what was found in the end, and whether the strategy was stated.
    """

    group: Group
    seconds: float
    wrong: list[str]
    before: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    is_stated: bool = False


def faults(said: Said, right: Right) -> list[str]:
    """Return what is wrong in what the verbs say of a group."""
    return [
        *_of_check(said, right),
        *_of_show(said, right),
        *_of_plan(said),
        *_of_explain(said, right),
        *(
            f"guard of {client} says {verdict}, right is {right.verdict}: {reason}"
            for client, (verdict, reason) in said.guards.items()
            if verdict != right.verdict
        ),
        *said.refusals,
    ]


def never(said: Said) -> list[str]:
    """Return findings that are false at any time."""
    return [
        f"check finds {_finding(found)}"
        for found in said.findings
        if found["rule"].startswith(NEVER)
    ]


def _of_check(said: Said, right: Right) -> Iterator[str]:
    for finding in said.findings:
        if finding["rule"] not in right.may_find:
            yield f"check finds {_finding(finding)}"
    yield from (f"check does not know {text}" for text in said.not_known)
    if said.doubt is not None and NOT_REPORTED not in said.doubt:
        yield f"check is in doubt: {said.doubt}"


def _finding(finding: Mapping[str, Any]) -> str:
    return f"{finding['severity']} {finding['rule']}: {finding['message']}"


def _of_show(said: Said, right: Right) -> Iterator[str]:
    if strange := said.owners.keys() ^ right.owners.keys():
        yield f"show has {len(said.owners)} queues, not {len(right.owners)}: {sorted(strange)[0]}"
    for queue in sorted(said.owners.keys() & right.owners.keys()):
        owners, known = said.owners[queue]
        if (owners, known) != ((right.owners[queue],), "reported"):
            yield f"show has {known} owners {owners} of {queue}, not {right.owners[queue]}"


def _of_plan(said: Said) -> Iterator[str]:
    if len({row["scenario"] for row in said.plans}) < 2:
        yield "plan plans no change"
    for row in said.plans:
        if row["err_code"] or row["unowned"] or row["double_owned"]:
            yield f"plan has {row}"


def _of_explain(said: Said, right: Right) -> Iterator[str]:
    if said.explained is None:
        yield "explain explains nothing"
    else:
        queue, owner = said.explained
        if owner != right.owners.get(queue):
            yield f"explain gives {queue} to {owner}, not to {right.owners.get(queue)}"


def right_of(tables: Tables, topic: str) -> Right:
    """Return what is right of a group whose members have these queues.

    A client without a queue of the topic, as rings leave some, is idle.
    """
    owners = {queue: client for client, queues in tables.items() for queue in queues}
    is_idle = any(not any(queue.topic == topic for queue in queues) for queues in tables.values())
    return Right(owners, len(tables), frozenset({"idle-client"} if is_idle else ()))


class Watched:
    """A group that is asked about until all is right."""

    def __init__(self, group: Group, right: Right) -> None:
        self.group, self._right = group, right
        self._never, self._before = dict[str, None](), dict[str, None]()
        self.look = Look(group, 0.0, ["nothing was asked"])

    def sees(self, said: Said, seconds: float) -> bool:
        """Take what the verbs say; whether that is right now."""
        self._never |= dict.fromkeys(never(said))
        rules = tuple(dict.fromkeys(finding["rule"] for finding in said.findings))
        wrong = faults(said, self._right)
        everything = dict.fromkeys([*self._never, *wrong])
        self.look = Look(
            self.group, seconds, [*everything], (*self._before,), rules, said.doubt is not None
        )
        self._before |= dict.fromkeys(rules)
        return not wrong


def looked(stage: Stage, number: int, but: Iterable[str] = ()) -> list[Look]:
    """Ask the verbs until all is right of every group, members ``but`` left out; the ``number`` of
    the event decides which queue and which clients they are asked about.
    """
    began, but = time.monotonic(), set(but)
    rights = {
        group.name: right_of(stage.expected(group, but), stage.topic) for group in stage.groups
    }
    watched = [Watched(group, rights[group.name]) for group in stage.groups]
    while True:
        everything = _asked(stage, rights, number)
        seconds = time.monotonic() - began
        are_right = [watch.sees(everything[watch.group.name], seconds) for watch in watched]
        if all(are_right) or seconds > RIGHT_WITHIN:
            return [watch.look for watch in watched]
        time.sleep(LOOKS_EVERY)


def _asked(stage: Stage, rights: Mapping[str, Right], number: int) -> dict[str, Said]:
    """Ask the verbs about every group."""
    name_server = stage.cluster.name_server
    everything = {group.name: Said() for group in stage.groups}
    names = [word for name in everything for word in ("-g", name)]
    checked = _document(everything.values(), "check", "-n", name_server, *names) or {}
    for finding in checked.get("findings", ()):
        for name in [finding["consumer_group"]] if finding["consumer_group"] else everything:
            everything[name].findings.append(finding)
    for fact in checked.get("not_known", ()):
        for name in [fact["subject"]] if fact["subject"] in everything else everything:
            everything[name].not_known.append(
                f"{fact['kind']} of {fact['subject']}: {fact['reason']}"
            )
    for group in checked.get("evidence", ()):
        everything[group["consumer_group"]].doubt = group["doubt"]
    for row in _document(everything.values(), "show", "-n", name_server, *names) or ():
        queue = MessageQueue(row["topic"], row["broker_name"], row["queue_id"])
        everything[row["consumer_group"]].owners[queue] = tuple(row["owners"] or ()), row["known"]
    for group in stage.groups:
        said, stated = everything[group.name], ()
        if said.doubt is not None:
            stated = ("--strategy", group.strategy)
        where = ("-n", name_server, "-g", group.name, *stated)
        _ask_of_group(said, where, rights[group.name], number)
    return everything


def _ask_of_group(said: Said, where: Sequence[str], right: Right, number: int) -> None:
    """Ask ``plan``, ``explain`` and ``guard`` about one queue and two clients, others after every event."""
    queue = sorted(right.owners)[number % len(right.owners)]
    clients = sorted({*right.owners.values()})
    client = clients[number % len(clients)]
    change = ("--remove-client", client) if right.n_clients > 1 else ("--scale", "2")
    said.plans = _document([said], "plan", *where, *change, "--show", "units") or []
    name = f"{queue.topic}/{queue.broker_name}:{queue.queue_id}"
    if explained := _document([said], "explain", *where, "--queue", name):
        said.explained = queue, explained["owner"]
    for asked in {client, clients[(number + 1) % len(clients)]}:
        if answer := _document([said], "guard", *where, "-c", asked):
            said.guards[asked] = answer["verdict"], answer["reason"]


def _document(saids: Iterable[Said], *arguments: str) -> Any:
    """Return what a verb answers as JSON; if it does not, what it prints is kept as a refusal."""
    code, out, err = run_cli(*arguments, "-o", "json")
    if out.strip():
        return json.loads(out)
    for said in saids:
        said.refusals.append(f"{arguments[0]} ends with {code}: {err.strip()[-400:]}")
    return None
