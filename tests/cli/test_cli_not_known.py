"""What is not known is said once: after the answer, a line for each kind of fact, in every verb."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from audited import group, queues, snapshot, topic
from checkout import DATA
from cli_commands import runner, saved_snapshot

from rmqalloc.evidence.decisions import ROWS
from rmqalloc.snapshot.snapshot import Broker, Client, SourceError
from rmqalloc.snapshot.unknown import KINDS

OUTPUTS = DATA / "mqadmin" / "formats" / "5.3.3"
REASON = "the file of {} was lost on the way"


def lost(kind):
    return {kind: REASON.format(kind)}


def failed(request, source="broker b"):
    return SourceError(source, request, f"{request.split()[0]} took longer than 3 s")


def half_told():
    clients = Client("c1", owned=queues(range(2))), Client("c2")
    return snapshot(group(*clients))


def in_doubt(name="g", **fields):
    return group("c1", "c2", name=name, strategy=None, **fields)


PASTED = {
    "progress": OUTPUTS / "consumerProgress.order-svc.txt",
    "progress with clients": OUTPUTS / "with-clients" / "consumerProgress.order-svc.txt",
    "connection": OUTPUTS / "consumerConnection.order-svc.txt",
    "status": OUTPUTS / "consumerStatus.order-svc.txt",
    "list of groups": OUTPUTS / "consumerProgress.txt",
}
ERRORS = (
    failed("GET_CONSUMER_CONNECTION_LIST g"),
    failed("GET_CONSUMER_RUNNING_INFO h, c2"),
    failed("GET_CONSUME_STATS g", "broker a"),
    failed("route of topic orders", "name server"),
)
MADE = {
    **{
        f"no {kind}": partial(
            lambda kind: snapshot(
                group("c1", "c2", unknown=lost(kind)),
                group("c1", "c2", name="h", unknown=lost(kind)),
            ),
            kind,
        )
        for kind in ("clients", "subscriptions", "owners", "lags", "brokers")
    },
    "no kind": lambda: snapshot(
        group("c1", "c2", unknown={kind: REASON.format(kind) for kind in KINDS})
    ),
    "no route": lambda: snapshot(
        group("c1", "c2"), topics=(replace(topic(), unknown=lost("routes")),)
    ),
    "silent broker": lambda: replace(
        snapshot(group("c1", "c2")), brokers=(Broker("a", "10.0.0.1:10911", is_silent=True),)
    ),
    "in doubt": lambda: snapshot(in_doubt(), in_doubt("h")),
    "in doubt, no clients known": lambda: snapshot(in_doubt(unknown=lost("clients"))),
    "clients differ": lambda: snapshot(
        group(Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE"), strategy=None)
    ),
    "silent client": half_told,
    "partial": lambda: snapshot(group("c1", "c2"), group("c1", "c2", name="h"), errors=ERRORS),
}
VERBS = {
    "show": ("show",),
    "groups": ("groups",),
    "check": ("check",),
    "check one rule": ("check", "--rule", "idle-client"),
    "plan": ("plan", "--scale", "3"),
    "plan partial": ("plan", "--scale", "3", "--allow-partial"),
    "plan any": ("plan", "--scale", "3", "--allow-partial", "--require", "any"),
    "explain": ("explain", "-g", "g", "--queue", "orders/a:1"),
    "compare": ("compare",),
    "recommend": ("recommend",),
    "rollout": ("rollout", "restart"),
    "guard": ("guard", "--after", "-g", "*"),
    "simulate": ("simulate", "-g", "g", "--event", "restart batch=1", "--seeds", "1"),
}


@pytest.fixture
def file(tmp_path):
    """Give the file of an input."""
    return lambda name: (
        PASTED[name] if name in PASTED else saved_snapshot(tmp_path / "s.json", MADE[name]())
    )


HOLDS = {row.what for row in ROWS}
"""What may hold of a group, before the reason."""


def notes_of(err):
    """Return the notes without the word before them."""
    return [line.partition(": ")[2] for line in err.splitlines()]


def statements(text):
    """Return what a text says, in parts of four words or more."""
    parts = (" ".join(part.strip(" .,").split()) for part in re.split(r"[;:()\n]|\. ", text))
    return [part for part in parts if part.count(" ") > 2 and part not in HOLDS]


@pytest.mark.parametrize("name", [*PASTED, *MADE])
@pytest.mark.parametrize("verb", VERBS)
def test_no_statement_stands_twice(capsys, file, verb, name):
    _, out, err = runner(capsys, *VERBS[verb])("-f", file(name))
    answer, notes = " ".join(out.split()), notes_of(err)
    said = [part for note in notes for part in statements(note)]
    assert [part for part, n in Counter(said).items() if n > 1] == []
    assert [part for part in said if part in answer] == []


@pytest.mark.parametrize("name", [*PASTED, *MADE])
@pytest.mark.parametrize("verb", VERBS)
def test_each_kind_of_unknown_fact_has_one_line_at_most(capsys, file, verb, name):
    _, out, err = runner(capsys, *VERBS[verb])("-f", file(name))
    lines = [*out.splitlines(), *notes_of(err)]
    kinds = [line.split()[2] for line in lines if line.startswith("not known: ")]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) <= set(KINDS)
