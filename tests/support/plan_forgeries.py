"""Plans as a forger would write them: each says something that does not follow from its inputs, or
that nothing else in the file shows, or asks for endless work.
"""

import hashlib
import json
from functools import reduce

from plan_mutations import rehashed

from rmqalloc.plans._plan_inputs import canonical


def _put(*parts, value):
    """A change that writes a value at a place."""
    *above, key = parts

    def change(document):
        reduce(lambda data, part: data[part], above, document)[key] = value

    return change


NAMED = ("consumer_group", "topic", "scenario")


def _hidden(document):
    """Every unit says that it could not be planned, as a file does that says so truly: no figures,
    no other rows.
    """
    tables = document["tables"]
    n_rows = len(tables["units"]["err_code"])
    for column in tables["units"].keys() - {*NAMED}:
        tables["units"][column] = _cells(tables["units"][column], [None] * n_rows)
    tables["units"] |= {
        "err_code": [6] * n_rows,
        "err_msg": {"rows": [0] * n_rows, "words": ["not planned"]},
    }
    groups = tables["groups"]
    for column in groups.keys() - {*NAMED}:
        groups[column] = [None if column in ("cross_room", "backlog_moved") else 0] * len(
            groups[column]
        )
    for table in ("clients", "queues"):
        tables[table] = {column: _cells(cells, []) for column, cells in tables[table].items()}


def _cells(like, cells):
    """Cells of a column in the form of another."""
    return {"rows": cells, "words": []} if isinstance(like, dict) else cells


def _gates(value):
    """Gates where a file has them."""

    def change(document):
        content = {"apiVersion": document["apiVersion"], "gates": value, **document}
        document.clear()
        document |= content

    return change


def _listed_twice(document):
    document["inputs"]["snapshot"]["groups"] *= 2


STRATEGY = ("inputs", "snapshot", "groups", 0, "strategy")
BROKERS = ("inputs", "snapshot", "topics", 0, "brokers")
LONG_CLIENTS = [{"client_id": "a" * 200 + str(number)} for number in range(3)]


def _hostile_pattern(document):
    group = document["inputs"]["snapshot"]["groups"][0]
    group |= {"strategy": "CANARY(share=0.5, pattern=" + "*a" * 40 + "b)", "clients": LONG_CLIENTS}


def _renamed(document):
    """Every scenario has another name, wherever it stands."""
    text = json.dumps(document)
    names = [scenario["name"] for scenario in document["scenarios"]]
    for name in names:
        text = text.replace(json.dumps(name), json.dumps(name + " (approved)"))
    document.clear()
    document |= json.loads(text)


def _another_time(document):
    """The snapshot was taken later."""
    for holder, key in ((document, "snapshotTime"), (document["inputs"]["snapshot"], "fetched_at")):
        assert key in holder
        holder[key] = "2026-11-23T12:00:00Z"


def _another_release(document):
    """A difference that an earlier meaning of plans would explain."""
    document["semanticsVersion"] = 0
    document["tables"]["units"]["moved"][1] += 1


STATED = {
    "gates removed": ("gates", lambda document: document.pop("gates"), "gates"),
    "a gate loosened": ("gates", _put("gates", "max_moved", value=500.0), "gates"),
    "gates added": ("plain", _gates({"max_moved": 500.0}), "gates"),
    "a scenario renamed": ("plain", _renamed, "scenarios"),
    "another time in the inputs as well": ("plain", _another_time, "inputs"),
}
"""Changes that `verify` cannot find: of which plan of `certified_plans.PLANS`, the change, and what
is named as not verified. Given the snapshot, it finds those of the inputs.
"""

NOT_RECOMPUTED = {
    "another release": (_put("toolVersion", value="0.0.9"), "toolVersion"),
    "another release with a difference": (_another_release, "semanticsVersion"),
}
"""Changes of the saved plan ``plain`` that could be another release's work, and what is named."""

FORGERIES = {
    "all units hidden by an err_code": _hidden,
    "a unit hidden by an err_code": _put("tables", "units", "err_code", 1, value=6),
    "a group listed twice": _listed_twice,
    "a queue of another owner": _put("tables", "queues", "owner_after", "rows", 9, value=0),
    "moves doubled": _put("tables", "groups", "moved", 1, value=99),
    "a way back of others": _put("undo", "four", 0, "groups", 0, value="h"),
    "2,097,152 queues of a broker": _put(*BROKERS, 0, "read_queue_nums", value=1 << 21),
    "16,777,216 queues of a topic": _put(
        *BROKERS,
        value=[
            {"broker_name": f"b{number:02}", "read_queue_nums": 1 << 20} for number in range(16)
        ],
    ),
    "another strategy": _put(*STRATEGY, value="AVG_BY_CIRCLE"),
    "a pattern that backtracks": _hostile_pattern,
    "a strategy of many blanks": _put(*STRATEGY, value="CANARY(share=" + " " * 3_200 + "x"),
    "a gate that is no number": _gates({"max_moved": "NaN"}),
    "a gate that is NaN": _gates({"max_moved": float("nan")}),
    "a gate that is not known": _gates({"max_loss": 1}),
    "another warning": _put("warnings", value=["nothing"]),
    "a line break in a strategy": _put(
        "tables", "units", "strategy", "words", 0, value="AVG\nrecomputed: owners: all\nverified"
    ),
    "a client name without {n}": _put(
        "scenarios", 0, "changes", 0, value={"scale_clients": {"to": 4, "name": "x" * 2_600}}
    ),
    "a foreign digest of the inputs": _put("inputDigest", value="0" * 64),
    "another time": _put("snapshotTime", value="2026-11-22T12:00:01Z"),
}
"""Changes of the saved plan `certified_plans.PLANS["plain"]` that are found, by name."""


def forged(text, change):
    """The text of a plan's file, forged: the digests of its inputs and of its content are those of
    what it now says.
    """
    document = json.loads(text)
    before = document["inputDigest"]
    change(document)
    if document["inputDigest"] == before:
        document["inputDigest"] = hashlib.sha256(
            canonical(document["inputs"]["snapshot"]).encode()
        ).hexdigest()
    return json.dumps(rehashed(document), separators=(",", ":"))
