"""What is silently wrong of an answer about damaged outputs, beside the answer about whole ones.

A loss must show: as a fact that is not known (``check`` ends with 4), a new warning, or a refusal.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from random import Random
from typing import NamedTuple

from contradicting_outputs import Contradiction
from damaged_outputs import COMMAND_LINE, KEPT, Damage, Files, damages, outputs_of

from rmqalloc.audit import check_snapshot
from rmqalloc.audit.owner_tables import current_owners
from rmqalloc.documents import Source
from rmqalloc.evidence import Known
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError


class Found(NamedTuple):
    """A finding without its words."""

    rule: str
    severity: str
    group: str
    topic: str | None
    queues: tuple[tuple[str, str, int], ...]
    clients: tuple[str, ...]


class Queue(NamedTuple):
    """A queue of a group."""

    group: str | None
    topic: str
    broker_name: str
    queue_id: int


class Reading(NamedTuple):
    """Who reads a queue: None if that is not known; and how many messages wait, as far as known."""

    owners: tuple[str, ...] | None
    messages: int | None

    def __str__(self) -> str:
        owners = "not known" if self.owners is None else ", ".join(self.owners) or "nobody"
        return owners if self.messages is None else f"{owners} ({self.messages} wait)"


class Answer(NamedTuple):
    """What is said of some files."""

    refusal: str | None
    findings: frozenset[Found]
    queues: Mapping[Queue, Reading]
    missing: frozenset[tuple[str, str]]  # kind and subject of facts that are not known
    scope: frozenset[tuple[str, str]]  # those that `check` prints without an exit code of their own
    warnings: tuple[str, ...]
    groups: frozenset[str]

    @property
    def errors(self) -> Iterator[tuple[str, ...]]:
        """What findings of severity error are about."""
        for finding in self.findings:
            if finding.severity == "error":
                named: list[tuple[str, ...]] = [(*map(str, queue),) for queue in finding.queues]
                named += [(client,) for client in finding.clients]
                for subject in named or [(finding.topic or "",)]:
                    yield (finding.rule, finding.group, *subject)


class Fault(NamedTuple):
    """Something that is silently wrong.

    Attributes
    ----------
    kind : str
        One of "exception", "new error", "finding lost", "queue lost", "owner changed", "backlog
        changed", "other answer".
    group, topic : str
        What it is about; empty if that is not known.
    text : str
    """

    kind: str
    group: str
    topic: str
    text: str


def answer(files: Files) -> Answer:
    """Return what reading and checking files comes to."""
    sources = [Source(file.name, file.text.encode(), SnapshotError) for file in files]
    try:
        snapshot, warnings = read_snapshots(sources)
    except (SnapshotError, OSError) as error:
        return Answer(str(error), frozenset(), {}, frozenset(), frozenset(), (), frozenset())
    known = Known.of(snapshot)
    findings = check_snapshot(known)
    found = frozenset(
        Found(
            finding.rule,
            finding.severity,
            finding.consumer_group,
            finding.topic,
            finding.queues,
            finding.clients,
        )
        for finding in findings
    )
    missing = frozenset((fact.kind, fact.subject) for fact in findings.missing)
    scope = frozenset((fact.kind, fact.subject) for fact in findings.not_known) - missing
    groups = frozenset(group.name for group in snapshot.groups)
    return Answer(None, found, _readings(known), missing, scope, warnings, groups)


def _readings(known: Known) -> dict[Queue, Reading]:
    table = current_owners(known).rows.table()
    names = ("consumer_group", "topic", "broker_name", "queue_id", "owners", "messages")
    columns = [table.column(name).to_pylist() for name in names]
    found = {}
    for group, topic, broker, number, owners, messages in zip(*columns, strict=True):
        who = None if owners is None else tuple(sorted(owners))
        found[Queue(group, topic, broker, number)] = Reading(who, messages)
    return found


def _differences(before: Answer, after: Answer) -> Iterator[Fault]:
    """Yield what is not the same."""
    if (before.refusal is None) != (after.refusal is None):
        text = "read" if after.refusal is None else f"refused: {after.refusal}"
        yield Fault("other answer", "", "", text)
        return
    for finding in sorted(before.findings ^ after.findings, key=repr):
        sign = "without" if finding in before.findings else "with"
        yield Fault("other answer", finding.group, finding.topic or "", f"{sign} {_words(finding)}")
    for queue in _changed(before, after):
        was, now = before.queues.get(queue), after.queues.get(queue)
        text = f"{_place(queue)}: {was} -> {now}"
        yield Fault("other answer", queue.group or "", queue.topic, text)
    for kind, subject in sorted(before.missing ^ after.missing):
        sign = "known" if (kind, subject) in before.missing else "not known"
        yield Fault("other answer", subject, subject, f"{sign}: {kind} of {subject}")


def _new_errors(before: Answer, after: Answer) -> Iterator[Fault]:
    known = set(before.errors)
    for subject in sorted(set(after.errors) - known):
        rule, group, *rest = subject
        yield Fault("new error", group, rest[0], f"{rule} {' '.join(rest)}")


def _losses(before: Answer, after: Answer) -> Iterator[Fault]:
    """Yield what is lost without a word."""
    if _new_warnings(before, after) or after.missing - before.missing:
        return
    for finding in sorted(before.findings - after.findings, key=repr):
        is_kept = any(_is_within(finding, wider) for wider in after.findings)
        if not is_kept and not _is_open(after, finding.group, finding.topic):
            yield Fault("finding lost", finding.group, finding.topic or "", _words(finding))
    seen = {queue[1:] for queue in after.queues}
    for queue in _changed(before, after):
        was, now = before.queues.get(queue), after.queues.get(queue)
        if _is_open(after, queue.group, queue.topic):
            continue
        kind = _loss(was, now, queue[1:] in seen)
        if kind is not None:
            yield Fault(kind, queue.group or "", queue.topic, f"{_place(queue)}: {was} -> {now}")


def _is_within(finding: Found, wider: Found) -> bool:
    """Return whether another finding says all that a finding says."""
    is_alike = finding[:3] == wider[:3]
    has_queues = set(finding.queues) <= set(wider.queues)
    return is_alike and has_queues and set(finding.clients) <= set(wider.clients)


def _loss(was: Reading | None, now: Reading | None, is_seen: bool) -> str | None:
    """Return what kind of loss a change of a queue is."""
    owners_before = was.owners if was else None
    owners_now = now.owners if now else None
    if not is_seen:
        return "queue lost"
    if owners_before != owners_now:
        return "owner changed"
    if was and now and was.messages != now.messages and now.messages is not None:
        return "backlog changed"
    return None


def _changed(before: Answer, after: Answer) -> list[Queue]:
    """Return queues with another reading."""
    queues = before.queues.keys() | after.queues.keys()
    changed = [queue for queue in queues if before.queues.get(queue) != after.queues.get(queue)]
    return sorted(changed, key=repr)


def _is_open(after: Answer, group: str | None, topic: str | None) -> bool:
    """Return whether a fact about a group or a topic is not known. The empty subject speaks of groups
    that no output names, and of topics that no known group reads.
    """
    subjects = {group if group in after.groups else "", topic}
    if any(queue.topic == topic and queue.group is None for queue in after.queues):
        subjects.add("")
    return any(subject in subjects for _, subject in after.missing)


def _new_warnings(before: Answer, after: Answer) -> Counter[str]:
    """Return warnings that are new, without the places that they name."""
    return Counter(map(_without_place, after.warnings)) - Counter(
        map(_without_place, before.warnings)
    )


@cache
def _without_place(warning: str) -> str:
    return re.sub(r"\S+:\d+(?::\d+)?", "PLACE", warning)


def _place(queue: Queue) -> str:
    return f"{queue.group}: {queue.topic}/{queue.broker_name}/{queue.queue_id}"


def _words(finding: Found) -> str:
    queues = " ".join(f"{topic}/{broker}/{number}" for topic, broker, number in finding.queues)
    return f"{finding.severity} {finding.rule} {finding.topic or ''} {queues} {' '.join(finding.clients)}"


# --- What cannot be seen ---

_WHOLE_OUTPUT = ("file deleted", "output and command line deleted")
_FROM_LAGS = ("dry-queue", "only-dry-queues", "lag-from-slave", "stranded-backlog", "no-consumer")
_NOTES = {"strategy-assumed", "owners-not-told", "expected-not-known"}
_ZERO_DIFF = re.compile(r"(?P<topic>\S+) +\S+ +\d+ +(?P<end>-?\d+) +(?P=end) .*")
_OLD_CLIENT = re.compile(r"\d{3,} +(?P<word>\S+) +.* V\S+.*")
_CLIENT = re.compile(r"(?P<word>\S+) +\S+:\d+ +[A-Z]+ +\S+ *")
_INDEXED_CLIENT = re.compile(r"\d+ +(?P<word>\S+) +\S+ +\d+/\S+ *")
_OLD_TOPIC = re.compile(r".*\d{3,} +Topic: (?P<word>\S+) .*")
_TOPIC = re.compile(r"(?P<word>\S+) +[^ ]+ *")
_WITHOUT_NUMBERS = (_CLIENT, _TOPIC)
_NUMBERED = (_OLD_CLIENT, _INDEXED_CLIENT, _OLD_TOPIC)


def is_lag_gone(_: Answer, after: Answer, damage: Damage, fault: Fault) -> bool:
    """No offsets are left of the group: ``check`` prints that its lags are not known, for which it
    does not end with 4.
    """
    is_printed = bool({("lags", fault.group), ("lags", "")} & after.scope)
    rests_on_lags = fault.kind == "queue lost" or any(rule in fault.text for rule in _FROM_LAGS)
    return is_printed and damage.kind in _WHOLE_OUTPUT and rests_on_lags


def is_source_gone(_: Answer, after: Answer, damage: Damage, fault: Fault) -> bool:
    """All outputs that show owners of the group are gone: what is left is an input of fewer
    sources. No owner may be another, and a note has to say what the owners rest on.
    """
    notes = {finding.rule for finding in after.findings if finding.group == fault.group}
    is_less = fault.kind in ("finding lost", "queue lost") or "-> not known" in fault.text
    return damage.kind in _WHOLE_OUTPUT and bool(notes & _NOTES) and is_less


def is_topic_gone(_: Answer, __: Answer, damage: Damage, fault: Fault) -> bool:
    """No output is left that names the topic."""
    texts = [file.name + file.text for file in damage.files]
    is_named = any(fault.topic in text for text in texts)
    return damage.kind in _WHOLE_OUTPUT and fault.kind == "queue lost" and not is_named


def is_group_gone(_: Answer, after: Answer, damage: Damage, fault: Fault) -> bool:
    """No output is left that names the group: ``check`` prints that only groups whose outputs are
    given are known.
    """
    texts = [file.name + file.text for file in damage.files]
    is_named = any(fault.group in text for text in texts)
    is_printed = ("subscriptions", "") in after.scope | after.missing
    is_loss = fault.kind in ("finding lost", "queue lost", "owner changed")
    return damage.kind in _WHOLE_OUTPUT and is_loss and is_printed and not is_named


def is_row_of_no_backlog(_: Answer, __: Answer, damage: Damage, fault: Fault) -> bool:
    """A row of consumerProgress whose Diff is 0 changes no total; of a topic without a topicRoute
    nothing else names its queue.
    """
    row = _ZERO_DIFF.fullmatch(damage.lost)
    named = row is not None and any(
        file.base_name.startswith(f"topicRoute.{row['topic']}.")
        or f"topicRoute -t {row['topic']} " in file.text
        for file in damage.files
    )
    return row is not None and (not named or "lag-from-slave" in fault.text)


def is_pop_row(_: Answer, __: Answer, damage: Damage, ___: Fault) -> bool:
    """A row of Consumer Pop Detail stands nowhere else; a client that pops at some brokers only is
    not unusual.
    """
    return "PopProcessQueueInfo" in damage.lost


def is_column_of_an_option(_: Answer, __: Answer, damage: Damage, ___: Fault) -> bool:
    """Without the column #Client IP the output is that of consumerProgress without ``-s true``,
    unless its command line has the option.
    """
    name = damage.where.partition(":")[0]
    texts = [file.text for file in damage.files if file.name == name]
    is_left = any("#Client IP" in text or " -s true" in text for text in texts)
    is_of_progress = any("#Consumer Offset " in text for text in texts)
    return damage.kind in ("column deleted", "word deleted") and is_of_progress and not is_left


def is_name_cut(_: Answer, __: Answer, damage: Damage, ___: Fault) -> bool:
    """Only a command line is cut, inside the name that it asks about: the command line of another
    name looks like that.
    """
    return (
        damage.kind == "cut" and "\n" not in damage.lost and bool(COMMAND_LINE.search(damage.lost))
    )


def is_row_without_trace(_: Answer, __: Answer, damage: Damage, fault: Fault) -> bool:
    """A table of clients or topics has no total. Where its rows have no numbers, or the last is
    missing, and no other output about the group names the client or the topic, nothing shows the
    loss. Lists of several brokers (``-b``) may differ, and a topicRoute names no group.
    """
    numbered = next(filter(None, (kind.fullmatch(damage.lost) for kind in _NUMBERED)), None)
    plain = next(filter(None, (kind.fullmatch(damage.lost) for kind in _WITHOUT_NUMBERS)), None)
    row = numbered or plain
    if row is None or row["word"].startswith("#"):
        return False
    rest = _about_groups(damage)
    word, host = row["word"], row["word"].partition("@")[0]
    counted = rf"^{re.escape(fault.group)} +[1-9]\d* +V"
    is_client = "Topic: " not in damage.lost and row.re is not _TOPIC
    shown = [rf"(?<![^\s/]){re.escape(word)}(?!\S)"]
    shown += [rf" {re.escape(host)} +-?\d", counted] if is_client else []
    if any(re.search(pattern, rest, re.MULTILINE) for pattern in shown):
        return False
    return numbered is None or not _has_row_behind(damage)


def _about_groups(damage: Damage) -> str:
    """Return the text of all other outputs that show clients or topics of groups."""
    name, _, number = damage.where.rpartition(":")
    rest = []
    for file in damage.files:
        first = 1
        for output in outputs_of(file.text):
            last = first + len(output.all_lines)
            command = output.command_line or file.name
            is_it = file.name == name and first <= int(number) <= last
            if not is_it and "topicRoute" not in command and " -b " not in command:
                rest += [file.name, *output.all_lines]
            first = last
    return "\n".join(rest)


def _has_row_behind(damage: Damage) -> bool:
    """Return whether a numbered row follows the one that is missing."""
    name, _, number = damage.where.rpartition(":")
    text = next(file.text for file in damage.files if file.name == name)
    lines = text.split("\n")[int(number) - 1 :]
    return bool(lines) and re.match(r"\d+ ", lines[0]) is not None


Exemption = Callable[[Answer, Answer, Damage, Fault], bool]

EXEMPTIONS: dict[str, Exemption] = {
    "lags gone": is_lag_gone,
    "source gone": is_source_gone,
    "topic gone": is_topic_gone,
    "group gone": is_group_gone,
    "row of no backlog": is_row_of_no_backlog,
    "row without trace": is_row_without_trace,
    "row of POP": is_pop_row,
    "column of an option": is_column_of_an_option,
    "name cut": is_name_cut,
}
"""Reasons for which a loss cannot be seen; the docstrings explain them."""


class Verdict(NamedTuple):
    """What is wrong, and what is explained."""

    faults: list[Fault]
    explained: Counter[str]  # by exemption


def judged(before: Answer, damage: Damage) -> Verdict:
    """Return what is silently wrong of the answer about damaged files."""
    try:
        after = answer(damage.files)
    except Exception as error:
        return Verdict([Fault("exception", "", "", f"{type(error).__name__}: {error}")], Counter())
    verdict = Verdict([], Counter())
    for fault in _found(before, after, damage):
        reason = next(
            (name for name, is_one in EXEMPTIONS.items() if is_one(before, after, damage, fault)),
            None,
        )
        if reason is None:
            verdict.faults.append(fault)
        else:
            verdict.explained[reason] += 1
    return verdict


def _found(before: Answer, after: Answer, damage: Damage) -> Iterator[Fault]:
    if damage.kind in KEPT:
        yield from _differences(before, after)
    elif before.refusal is None and after.refusal is None:
        yield from _new_errors(before, after)
        yield from _losses(before, after)


# --- Contradictions ---

_FILE_AND_LINE = re.compile(r"\S+:\d+")


def silent_contradiction(found: Contradiction) -> list[Fault]:
    """Return what is silently wrong of the answer about outputs that contradict each other: nothing
    names the contradiction, or something rests on what only one of them has.
    """
    try:
        both = answer(found.files)
    except Exception as error:
        return [Fault("exception", "", "", f"{type(error).__name__}: {error}")]
    if both.refusal is not None:
        return list(_unnamed(found, [both.refusal], both.refusal))
    worlds = [answer(files) for files in found.worlds]
    new = _new_warnings(worlds[0], both)
    said = [warning for warning in both.warnings if _without_place(warning) in new]
    wrong = [*_unnamed(found, said, "no such warning"), *_errors_of_one(worlds, both)]
    return [*wrong, *(_owners_of_one(worlds, both) if found.kind == "owners" else ())]


def _unnamed(found: Contradiction, said: Iterable[str], text: str) -> Iterator[Fault]:
    """Yield a fault, if nothing that is said names the subject and a line of a file."""
    for words in said:
        if any(subject in words for subject in found.subjects) and _FILE_AND_LINE.search(words):
            return
    yield Fault("not named", "", "", f"{' '.join(found.subjects)}: {text}")


def _errors_of_one(worlds: list[Answer], both: Answer) -> Iterator[Fault]:
    """Yield errors that only one of the sources has."""
    common = set.intersection(*(set(world.errors) for world in worlds if world.refusal is None))
    for rule, group, *rest in sorted(set(both.errors) - common):
        yield Fault("new error", group, rest[0], f"{rule} {' '.join(rest)}")


def _owners_of_one(worlds: list[Answer], both: Answer) -> Iterator[Fault]:
    """Yield owners that only one of the sources has."""
    for queue, reading in both.queues.items():
        owners = {world.queues[queue].owners for world in worlds if queue in world.queues}
        if reading.owners is not None and owners - {None} - {reading.owners}:
            text = f"{_place(queue)}: {reading}, of {sorted(map(str, owners))}"
            yield Fault("owner of one source", queue.group or "", queue.topic, text)


# --- Samples ---


def sampled(
    kind: str, cases: Mapping[str, Files], count: int, seed: object
) -> Iterator[tuple[str, Damage]]:
    """Yield damages of a kind, each of another case as far as there are enough, with the name of the
    case; equal for equal seeds.
    """
    random = Random(f"{kind} {seed}")
    names = sorted(cases)
    random.shuffle(names)
    n_found = 0
    for name in names:
        if n_found == count:
            return
        found = list(damages(kind, cases[name]))
        if found:
            n_found += 1
            yield name, random.choice(found)
