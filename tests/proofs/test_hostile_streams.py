"""What the proof of hostile streams is fed with and compares; the query itself runs in
`proofs/hostile_streams/`.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from random import Random

import pytest
import tied
from hostile_streams import __main__ as proof
from hostile_streams.hostile_events import NUMBERED, hostile, kinds_of_rows
from hostile_streams.runs import (
    QueryError,
    Run,
    WorkerMemory,
    descendants,
    files_of_batches,
    followed_query,
    high_water,
)

from spark_udfs import _event_bounds

NOW = 1_800_000_000


def test_two_hundred_events_are_of_every_kind_and_name_what_is_there():
    made = hostile(200, NOW)
    kinds = Counter(kind for kind, _ in made)
    assert len(made) == 200 and len(kinds) > 25 and min(kinds.values()) >= 1
    assert made == hostile(200, NOW)
    with pytest.raises(
        ValueError, match=f"there are {len(kinds)} kinds of events, and 9 events do not have all"
    ):
        hostile(9, NOW)
    with_fields = [event for _, event in made if isinstance(event, dict)]
    assert {event["consumer_group"] for event in with_fields if event.get("topic") == "T3"} == {
        "T3-b"
    }
    texts = "".join(event if isinstance(event, str) else json.dumps(event) for _, event in made)
    odd = [
        "NaN",
        "Infinity",
        "2000000000",
        "1048577",
        "2147483648",
        str(NOW * 1000),
        "-1",
        "\\n",
        "+292278",
        "null",
    ]
    assert [said for said in odd if said not in texts] == []


def test_of_events_whose_fields_have_their_types_each_is_refused():
    window = _event_bounds.Window(600 * 10**6, 7 * 86_400 * 10**6, 3_600 * 10**6)
    tried = 0
    for kind, event in hostile(200, NOW):
        if (
            isinstance(event, str)
            or "topics" in event
            or "types" in kind
            or kind.startswith(("times", "milliseconds"))
        ):
            continue
        given = {key: value for key, value in event.items() if value is not None} | {
            "time": NOW * 10**6
        }
        with pytest.raises(ValueError):  # noqa: PT011 - each has a message of its own
            _event_bounds.check(given, event["topic"] or "", NOW * 10**6, window)
        tried += 1
    assert tried > 60


def rows_of(events):
    """Rows that refuse events, as live plans make them: text that was read is serialised again."""
    return [
        {
            "version": None,
            "err_code": 1,
            "err_msg": "no",
            "event": one if isinstance(one, str) else json.dumps(one, ensure_ascii=False),
        }
        for _, one in events
    ]


def test_rows_are_known_again():
    made = hostile(200, NOW)
    told = [
        row | {"event": json.dumps(event, separators=(",", ":"))}
        if isinstance(event, dict) and "types" not in kind
        else row
        for (kind, event), row in zip(made, rows_of(made), strict=True)
    ]
    assert Counter(kinds_of_rows(told, made)) == Counter(kind for kind, _ in made)
    assert (
        kinds_of_rows(
            [{"event": "another"}, {"event": None}, {"event": f'"sequence":{NUMBERED + 999}'}], made
        )
        == [None] * 3
    )


def test_a_trace_of_a_hostile_event_is_a_difference(monkeypatch):
    wrong, taken = hostile(200, NOW), [{"version": version, "err_code": 0} for version in (1, 2)]
    monkeypatch.setattr(proof, "followed", lambda _: "owners")
    monkeypatch.setattr(proof, "answer", lambda *_: "owners")
    right = {"rows": taken[::-1], "state": ["a", "b"]}
    made = {"rows": taken + rows_of(wrong), "state": ["a", "b"]}

    def faults(**other):
        return proof.differences(made | other, right, [], wrong)

    assert faults() == []
    assert faults(state=["a", "c"]) == ["a state that is not that of the good events alone"]
    assert faults(rows=made["rows"][1:]) == [
        "1 rows that are not those of the good events alone, which are 2"
    ]
    kind = wrong[-1][0]
    n = sum(one == kind for one, _ in wrong)
    assert faults(rows=made["rows"][:-1]) == [f"{kind}: {n - 1} rows of {n} events"]
    assert faults(rows=[*made["rows"], made["rows"][-1]]) == [f"{kind}: {n + 1} rows of {n} events"]
    broken = made["rows"][-1] | {"err_msg": "two\nlines"}
    assert faults(rows=[*made["rows"][:-1], broken]) == [
        "1 refused rows without a code, or with other than one line of reason"
    ]
    monkeypatch.setattr(proof, "answer", lambda *_: "others")
    assert faults() == ["owners that are not those of the engine"]


def test_good_events_keep_their_order_among_the_others():
    wrong, events = hostile(200, NOW), proof.good_events(60, 3)
    batches = proof.among(events, wrong, 4, Random(1))
    marked = {json.dumps(event) for _, event in wrong}
    assert [one for batch in batches for one in batch if json.dumps(one) not in marked] == events
    assert [
        [one for one in batch if json.dumps(one) not in marked] for batch in batches
    ] == proof.cut(events, 4)
    assert all(any(json.dumps(one) in marked for one in batch) for batch in batches)


def test_a_batch_may_have_read_two_files_and_the_last_one_none(tmp_path):
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    for number, upto in enumerate([0, 1, 3, *range(4, 12), 11]):
        (offsets / f"{number}").write_text(f'v1\n{{"conf": {{}}}}\n{{"logOffset":{upto}}}\n')
    (offsets / ".0.crc").write_bytes(b"x")
    assert files_of_batches(tmp_path) == [[0], [1], [2, 3], *([n] for n in range(4, 12))]


def test_the_page_says_what_was_compared():
    wrong = hostile(200, NOW)
    run = Run("SIGKILL", 2, 3, 4, 300 << 20)
    made = {"rows": rows_of(wrong), "state": ["a"]}
    text = "\n".join(proof.figures([run], [run], made, made, []) + proof.kind_table(made, wrong))
    assert (
        "**0 faults.**" in text and "| 1, with hostile events | 2, 3 | SIGKILL | 4 | 300 |" in text
    )
    assert "| channels |" in text and "**Faults: 1.** lost" in "\n".join(
        proof.figures([run], [run], made, made, ["lost"])
    )


def test_the_memory_of_a_child_is_seen_and_kept():
    code = "import sys, time; x = bytearray(90 << 20); print(1, flush=True); del x; time.sleep(60)  # marked"
    with tied.popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        try:
            with WorkerMemory(os.getpid(), marks=(b"# marked",), every=0.01) as memory:
                child.stdout.readline()
                until = time.monotonic() + 20
                while memory.peak < 90 << 20 and time.monotonic() < until:
                    time.sleep(0.01)
            assert child.pid in descendants(os.getpid()) and memory.peaks.keys() == {child.pid}
            assert memory.peak >= 90 << 20
        finally:
            child.kill()
    assert high_water(child.pid) == 0


def test_a_query_that_ends_by_itself_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(QueryError, match="it ended with 1"):
        followed_query(tmp_path)
    with pytest.raises(QueryError, match="1 micro-batches were not done"):
        followed_query(tmp_path, kills=(1,))
