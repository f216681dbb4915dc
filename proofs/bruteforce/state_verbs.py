"""All verbs on one snapshot: each answers about owners, counts, states and exit codes as the two tables
do.
"""

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from served import reading, readings_of, served
from watched_snapshots import Watched

import rmqalloc
from bruteforce import decisions, state_cases
from bruteforce.clusters import RETRY
from bruteforce.states import UNKNOWN, States, without
from rmqalloc.cli import main
from rmqalloc.errors import Error
from rmqalloc.evidence.decisions import UnansweredError
from rmqalloc.history import History, Recorder
from rmqalloc.service.mcp import Subject
from rmqalloc.service.mcp._server import answer_of
from rmqalloc.snapshot import data_time
from rmqalloc.snapshot.plain_data import from_document
from rmqalloc.watching.guard import has_left, may_stop

HIDDEN = {"no-route", "no-permission", "beyond-read-queues", "no-group"}
KEY = ("consumer_group", "topic", "broker_name", "queue_id")
FIGURES = ("unowned", "double_owned", "idle", "skew")
SIX = [{"name": "six", "changes": [{"scale_clients": {"to": 6}}]}]
METRICS = {
    "rmqalloc_group_idle_clients": "idle",
    "rmqalloc_group_unowned_queues": "unowned",
    "rmqalloc_group_double_owned_queues": "double_owned",
    "rmqalloc_group_skew": "skew",
}
AT = 1_795_000_000.0


def case(random):
    """A random snapshot, and the verbs that are compared on it: the smallest case has one of them."""
    return {**state_cases.case(random), "verbs": list(PARTS)}


def compare_all(case, tally):
    """What every verb says about a snapshot."""
    document = case["snapshot"]
    states = {group["name"]: States(document, group) for group in document["groups"]}
    snapshot = from_document(document)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "snapshot.json")
        path.write_text(json.dumps(document))
        asked = Asked(document, states, snapshot, path, tally)
        for verb in case["verbs"]:
            try:
                PARTS[verb](asked)
            except Exception as error:
                tally.same(f"{verb} raises {type(error).__name__}", "", "an answer", str(error))


class Asked(NamedTuple):
    """A snapshot as a document, the states of its groups, and the product's forms of it."""

    document: dict
    states: dict
    snapshot: object
    path: Path
    tally: object


# --- Who owns what ---


def show_all(states, snapshot, tally, verb):
    rows_all(states, rmqalloc.show(snapshot).queues.to_pylist(), tally, verb)


def rows_all(states, rows, tally, verb):
    """Compare a table of owners."""
    got = {tuple(row[name] for name in KEY): row for row in rows}
    for name, of_group in states.items():
        for queue, row in of_group.rows.items():
            key = (name, *queue)
            if key not in got:
                if of_group.clients or not queue[0].startswith(RETRY):
                    tally.same(f"{verb}: no row ({row.reason})", key, True, False)
                continue
            row_of(tally, verb, key, row, got[key], of_group.lists(queue[0]))


def row_of(tally, verb, key, row, got, is_listed=True):
    verb = verb if is_listed else f"unlisted retry topic, {verb}"
    tally.same(f"{verb}: known, {row.reason}", key, row.known, got["known"])
    owners = None if row.owners is None else list(row.owners)
    tally.same(f"{verb}: owners, {row.known} {row.reason}", key, [owners], [got["owners"]])
    tally.same(f"{verb}: state, {row.unread or row.reason}", key, row.state, got["state"])
    tally.same(
        f"{verb}: reason, {row.unread or row.reason}", key, row.unread or row.reason, got["reason"]
    )
    if row.known == UNKNOWN and row.reason == "unknown":
        perhaps = list(row.perhaps or ())
        tally.same(f"{verb}: perhaps", key, perhaps, list(got["perhaps"] or ()))


def reach_all(states, snapshot, tally, verb="check"):
    """Compare who reads the queues that are written to."""
    for got in rmqalloc.check(snapshot).reach.to_pylist():
        key = tuple(got[name] for name in KEY)
        of_group = states.get(key[0])
        row = of_group and of_group.rows.get(key[1:])
        if row is None or got["reason"] in HIDDEN or not of_group.lists(key[1]):
            continue
        reason = row.unread or row.reason
        tally.same(f"{verb}: state, {reason}", key, row.state, got["state"])
        tally.same(f"{verb}: reason, {reason}", key, reason, got["reason"])
        if row.state == "read":
            tally.same(
                f"{verb}: readers, {row.known} {reason}", key, list(row.owners), got["readers"]
            )


def groups_all(states, snapshot, tally):
    figures_all(states, rmqalloc.groups(snapshot).groups.to_pylist(), tally, "groups")


def figures_all(states, rows, tally, verb):
    for got in rows:
        of_group = states[got["consumer_group"]]
        expected = of_group.figures
        if not any(of_group.lists(queue[0]) for queue in of_group.rows):
            continue
        for name in FIGURES:
            kind = f"{verb}: {name}" + (" where null is right" if expected[name] is None else "")
            tally.same(kind, got["consumer_group"], [expected[name]], [got[name]])


# --- plan, explain ---


def plan_all(states, snapshot, tally):
    try:
        plan = rmqalloc.plan(snapshot, SIX)
    except UnansweredError:  # which exit codes have to say
        return
    present = [row for row in plan.groups.to_pylist() if row["scenario"] == "current"]
    planned = [row for row in present if row["n_topics"]]
    open_rows = [row for row in planned if is_open(states[row["consumer_group"]])]
    for row in open_rows:
        nothing = [row[name] for name in FIGURES]
        tally.same("plan: null where it is open", row["consumer_group"], [None] * 4, nothing)
    figures_all(states, [row for row in planned if row not in open_rows], tally, "plan")
    for got in plan.queues.to_pylist():
        key = tuple(got[name] for name in KEY)
        of_group = states[key[0]]
        row = of_group.rows.get(key[1:])
        if got["scenario"] != "six" or row is None:
            continue
        if of_group.is_open(key[1]):
            continue
        owners = [got["owner_before"]] if got["owner_before"] else []
        owners = sorted([*owners, *(got["others_before"] or ())])
        tally.same(f"plan: owners before, {row.known}", key, sorted(row.owners), owners)


def is_open(states):
    listed = [topic for topic in states.topics if states.lists(topic)]
    return any(map(states.is_open, listed))


def explain_all(states, snapshot, tally):
    for name, of_group in states.items():
        for queue, row in of_group.rows.items():
            try:
                found = rmqalloc.explain(snapshot, name, *queue)
            except (Error, ValueError):
                continue
            got = [] if found.owner is None else sorted([found.owner, *found.others])
            if row.known == UNKNOWN:
                excluded = [owner for owner in got if owner not in (row.perhaps or ())]
                tally.same("explain: names an owner that is excluded", (name, *queue), [], excluded)
            else:
                kind = f"explain: owners, {row.known} {row.reason}"
                tally.same(kind, (name, *queue), sorted(row.owners), got)


# --- guard ---


def guard_all(document, states, snapshot, tally):
    """A yes is an invariant; an unknown where all is known is counted."""
    for name, of_group in states.items():
        answer = has_left(snapshot, "", [name]).verdict
        verdict_of(tally, "guard --after", name, of_group, None, answer)
        for client_id in dict.fromkeys(client.client_id for client in of_group.clients):
            try:
                answer = may_stop(snapshot, client_id, [name]).verdict
            except Error:
                continue
            after = without(document, name, {client_id})
            [group] = [group for group in after["groups"] if group["name"] == name]
            behind = States(after, group)
            verdict_of(tally, "guard --stop", (name, client_id), of_group, behind, answer)


def verdict_of(tally, verb, where, before, behind, answer):
    faults = [fault for fault in (unsettled(before), behind and unsettled(behind)) if fault]
    if answer == "yes":
        tally.same(f"{verb}: yes, though {faults[0] if faults else ''}", where, [], faults)
    elif answer == "no":
        is_open = not before.settled or decisions.lists_differ(before.group)
        tally.same(f"{verb}: no without a reason", where, True, bool(faults or is_open))
    else:
        is_known = before.settled is not None and not (behind and open_rows(behind))
        if is_known and not decisions.is_partial(before):
            tally.careful[f"{verb}: settled is {before.settled}"] += 1


def unsettled(states):
    """Why a yes would be wrong."""
    rows = [row for queue, row in states.rows.items() if not queue[0].startswith(RETRY)]
    if any(row.known == UNKNOWN for row in rows):
        return "a queue is unknown"
    if any(not row.owners for row in rows):
        return "a queue is unowned"
    if any(row.reason == "several-owners" for row in rows):
        return "a queue is double-owned"
    return None


def open_rows(states):
    return any(row.known == UNKNOWN for row in states.rows.values())


# --- service, metrics, history, mcp ---


def serve_all(states, snapshot, tally):
    with served(readings_of(reading(snapshot), every=3600.0)) as client:
        for name in states:
            found = client.get(f"/v1/groups/{name}").json()
            rows_all({name: states[name]}, found["queues"], tally, "/v1")
            figures_all({name: states[name]}, [found["group"]], tally, "/v1")
        metrics_all(states, client.get("/metrics").text, tally)


def metrics_all(states, text, tally):
    """A figure that is null has no sample."""
    got = {}
    for metric, labels, value in re.findall(r"^(\w+)\{(.*)\} (\S+)$", text, re.MULTILINE):
        name = re.search(r'consumer_group="(.*?)"', labels)
        if metric in METRICS and name:
            got[METRICS[metric], name[1]] = float(value)
    for name, of_group in states.items():
        if not any(of_group.lists(queue[0]) for queue in of_group.rows):
            continue
        for figure, expected in of_group.figures.items():
            kind = f"metrics: {figure}" + (" where null is right" if expected is None else "")
            tally.same(kind, name, [expected], [got.get((figure, name))])


def history_all(states, snapshot, path, tally):
    """Equal readings, read as they were between; of whole groups, for a history keeps neither what
    was not known nor how often an id is listed.
    """
    states = {name: of_group for name, of_group in states.items() if is_kept(of_group)}
    watched, directory = Watched(), path.parent
    with Recorder(directory / "cluster.history") as recorder:
        for second in (0, 30, 60):
            recorder.record(watched.observe(snapshot, AT + second))
    then = History(directory / "cluster.history").snapshot_at(AT + 15)
    show_all(states, then, tally, "history")


def is_kept(states):
    ids = [client.client_id for client in states.clients]
    is_known = not states.unknown and all(map(states.is_whole, states.topics))
    is_agreed = "broker_client_ids" not in states.group
    return is_known and is_agreed and len(set(ids)) == len(ids)


def mcp_all(states, path, tally):
    subject = Subject(files=[str(path)])
    shown = answer_of(subject, "show", {"most_rows": 500})["document"]
    rows_all(states, shown["queues"], tally, "mcp show")
    listed = answer_of(subject, "groups", {"most_rows": 500})["document"]
    figures_all(states, listed["groups"], tally, "mcp groups")


# --- Exit codes ---

COMMANDS = {
    "show": ["show"],
    "groups": ["groups"],
    "check": ["check"],
    "guard": ["guard", "--after"],
    "plan": ["plan", "--scale", "6"],
    "compare": ["compare"],
    "recommend": ["recommend"],
    "rollout": ["rollout", "restart"],
    "simulate": ["simulate", "--event", "restart batch=1", "--seeds", "1"],
}


def codes_all(states, path, tally):
    """Exit codes of all verbs, by group."""
    for name, of_group in states.items():
        for verb, command in COMMANDS.items():
            code_of(tally, verb, [*command, "-f", str(path), "-g", name], of_group)
        listed = [queue for queue in of_group.rows if not queue[0].startswith(RETRY)]
        for topic, broker, queue_id in listed[:1]:
            queue = f"{topic}/{broker}:{queue_id}"
            code_of(
                tally,
                "explain",
                ["explain", "--queue", queue, "-f", str(path), "-g", name],
                of_group,
            )


def code_of(tally, verb, command, states):
    expected = decisions.codes(states, verb)
    if expected is None:
        return
    code, _ = ended(command)
    kind = (
        f"exit code of {verb}: {sorted(expected)} expected, got {code} ({decisions.reason(states)})"
    )
    tally.same(kind, states.group["name"], True, code in expected)


def ended(command):
    """Exit code and what is said on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with patch.object(data_time, "why_not_current", lambda *_when: None):
                code = main([*command, "-o", "json"] if command[0] != "guard" else command)
        except SystemExit as end:
            code = end.code
    return code or 0, err.getvalue()


PARTS = {
    "show": lambda asked: show_all(asked.states, asked.snapshot, asked.tally, "show"),
    "check": lambda asked: reach_all(asked.states, asked.snapshot, asked.tally),
    "groups": lambda asked: groups_all(asked.states, asked.snapshot, asked.tally),
    "plan": lambda asked: plan_all(asked.states, asked.snapshot, asked.tally),
    "explain": lambda asked: explain_all(asked.states, asked.snapshot, asked.tally),
    "guard": lambda asked: guard_all(asked.document, asked.states, asked.snapshot, asked.tally),
    "service": lambda asked: serve_all(asked.states, asked.snapshot, asked.tally),
    "history": lambda asked: history_all(asked.states, asked.snapshot, asked.path, asked.tally),
    "mcp": lambda asked: mcp_all(asked.states, asked.path, asked.tally),
    "codes": lambda asked: codes_all(asked.states, asked.path, asked.tally),
}
