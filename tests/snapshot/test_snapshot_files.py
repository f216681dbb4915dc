"""Snapshots in files: every form gives back what it holds, and whatever is wrong is refused with
its place.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from interpreter import run_python
from json_schema import faults

from rmqalloc import MessageQueue
from rmqalloc.documents import read_budget
from rmqalloc.snapshot.files import (
    given_sources,
    losses,
    read,
    read_snapshot,
    read_snapshot_with_warnings,
    read_snapshots,
    snapshot_schema,
    write_snapshot,
)
from rmqalloc.snapshot.plain_data import SnapshotError, from_document, to_document
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Group,
    Lag,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

EXAMPLES = sorted((ROOT / "examples" / "snapshots").iterdir())

ORDERS = ROOT / "examples" / "snapshots" / "orders.yaml"

NAMES = st.text(min_size=1, max_size=6).filter(
    lambda name: name == name.strip() and "\r" not in name
)
COUNTS = st.integers(0, 2**20)
MAYBE = st.none() | NAMES
QUEUES = st.builds(MessageQueue, NAMES, NAMES, st.integers(-1, 2**20 - 1))
PARAMS = st.dictionaries(NAMES, st.integers(0, 9) | NAMES | st.lists(NAMES, max_size=2), max_size=2)


def tuples(of, by=None):
    return st.lists(of, max_size=3, unique_by=by).map(tuple)


LAGS = tuples(
    st.builds(
        Lag,
        QUEUES,
        st.integers(0, 2**40),
        st.integers(-1, 2**40),
        st.none() | st.integers(0, 2**40),
    ),
    lambda lag: lag.queue,
)
BROKERS = tuples(
    st.builds(TopicBroker, NAMES, COUNTS, st.none() | COUNTS, st.integers(0, 7), MAYBE),
    lambda one: one.broker_name,
)
TOPICS = tuples(st.builds(Topic, NAMES, BROKERS), lambda topic: topic.name)
CLIENTS = tuples(
    st.builds(
        Client, NAMES, MAYBE, MAYBE, MAYBE, MAYBE, st.none() | COUNTS,
        owned=st.none() | tuples(QUEUES, lambda queue: queue),
    ),
    lambda client: client.client_id,
)  # fmt: skip
GROUPS = tuples(
    st.builds(
        Group, NAMES, tuples(NAMES, lambda name: name), CLIENTS, st.sampled_from(["CLUSTERING", "BROADCASTING"]), MAYBE,
        PARAMS, st.sampled_from([None, "given", "reported", "fitted", "assumed"]), st.none() | st.floats(0, 1), MAYBE,
        st.booleans(), st.booleans(), st.sampled_from([None, "PULL", "POP"]), COUNTS,
        lags=LAGS, consume_tps=st.none() | st.floats(0, 1e12),
    ),
    lambda group: group.name,
)  # fmt: skip
SNAPSHOTS = st.builds(
    Snapshot, TOPICS, GROUPS, tuples(st.builds(SourceError, NAMES, NAMES, NAMES)), MAYBE, MAYBE,
    tuples(
        st.builds(Broker, NAMES, NAMES, st.sampled_from(["MASTER", "SLAVE", "ACTING_MASTER"])), lambda one: one.broker_name
    ),
)  # fmt: skip


def given_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


# --- What is written is read back ---


@pytest.mark.parametrize("form", ["json", "yaml"])
@given(snapshot=SNAPSHOTS)
@examples(30)
def test_json_and_yaml_hold_all(form, snapshot, tmp_path_factory):
    path = str(tmp_path_factory.getbasetemp() / f"held.{form}")
    write_snapshot(snapshot, path)
    assert read_snapshot(path) == snapshot
    assert losses(snapshot, form) == ()


@pytest.mark.parametrize("form", ["csv", "parquet"])
@given(snapshot=SNAPSHOTS)
@examples(30)
def test_tables_hold_all_but_what_they_tell(form, snapshot, tmp_path_factory):
    path = str(tmp_path_factory.getbasetemp() / f"held.{form}")
    write_snapshot(snapshot, path)
    lost = losses(snapshot, form)
    assert bare(read_snapshot(path), lost) == bare(snapshot, lost)
    implied = {"topics"} if not snapshot.topics else set()
    implied |= (
        {"groups[].subscriptions"}
        if any(not group.subscriptions for group in snapshot.groups)
        else set()
    )
    assert set(lost) <= {"brokers", "errors", "fetched_at", "source"} | implied


@pytest.mark.parametrize("name", ["lags", "owned"])
def test_a_parameter_may_bear_the_name_of_a_list_of_queues(name):
    given = {name: ["b", "a"]}
    snapshot = Snapshot(
        groups=(Group("g", clients=(Client("c"),), strategy="AVG", strategy_params=given),)
    )
    assert losses(snapshot, "csv") == losses(snapshot, "parquet") == ()


def bare(snapshot, lost):
    """A document without what is lost; lags and queues in one order."""
    document = to_document(snapshot)
    for name in lost:
        document.pop(name, None)
    for group in document.get("groups", ()):
        group.pop("subscriptions" if "groups[].subscriptions" in lost else "", None)
        group.get("lags", []).sort(key=json.dumps)
        for client in group.get("clients", ()):
            if client.get("owned"):
                client["owned"].sort(key=json.dumps)
    return document


def test_what_a_table_cannot_hold_is_told():
    clients = (
        Client("c", subscriptions=("t",), sees_read_queue_nums={"t": {"b": 3}}),
        Client("c", owned=()),
    )
    group = Group("g", ("t",), clients, broker_client_ids={"b": ("c",)})
    snapshot = Snapshot(
        (Topic("t"),), (group,), (SourceError("a", "b", "c"),), "2026-01-01T00:00:00Z", "me"
    )
    assert sorted(losses(snapshot, "csv")) == [
        "errors", "fetched_at", "groups[].broker_client_ids", "groups[].clients[].owned",
        "groups[].clients[].sees_read_queue_nums", "source",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\rb"])
def test_a_name_that_a_table_cannot_hold_is_refused(name):
    with pytest.raises(SnapshotError, match="a table cannot hold the consumer_group"):
        losses(Snapshot(groups=(Group(name),)), "csv")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_read_and_go_through_every_form(path, tmp_path):
    snapshot, warnings = read_snapshot_with_warnings(str(path))
    assert warnings == ()
    before = str(path)
    for form in ("json", "csv", "parquet", "yaml"):
        after = str(tmp_path / f"s.{form}")
        write_snapshot(read_snapshot(before), after)
        before = after
    lost = losses(snapshot, "csv")
    assert set(lost) <= {"errors", "fetched_at", "source"}
    assert bare(read_snapshot(before), lost) == bare(snapshot, lost)


def test_the_example_of_a_whole_snapshot_has_owners_and_lags():
    group = next(one for one in read_snapshot(str(ORDERS)).groups if one.lags)
    owned = {queue for client in group.clients for queue in client.owned}
    assert owned == {lag.queue for lag in group.lags}
    assert sum(lag.messages for lag in group.lags) > 0


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = given_text(tmp_path, "s.csv", "old")
    with pytest.raises(SnapshotError):
        write_snapshot(Snapshot(groups=(Group(""),)), path)
    assert Path(path).read_text() == "old"
    with pytest.raises(ValueError, match="must be a finite number"):
        write_snapshot(
            Snapshot(groups=(Group("g", consume_tps=float("nan")),)), str(tmp_path / "s.json")
        )
    assert [one.name for one in tmp_path.iterdir()] == ["s.csv"]


def test_standard_input_and_output(monkeypatch, capsysbinary):
    snapshot = Snapshot(groups=(Group("g"),))
    write_snapshot(snapshot, "-", "yaml")
    written = capsysbinary.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written)))
    assert read_snapshot("-") == snapshot


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    write_snapshot(Snapshot(), str(link))
    write_snapshot(Snapshot(), os.devnull, "json")
    assert link.is_symlink()
    assert target.read_text().startswith("{")
    assert not Path(os.devnull).is_file()


def test_json_and_csv_need_nothing_that_is_optional(tmp_path):
    script = f"""
import sys
sys.modules.update(dict.fromkeys(("yaml", "pyarrow", "click")))  # None: importing it fails
from rmqalloc.snapshot.files import read_snapshot, write_snapshot
from rmqalloc.snapshot.snapshot import Group, Snapshot
for path in ({str(tmp_path / "s.json")!r}, {str(tmp_path / "s.csv")!r}):
    write_snapshot(Snapshot(groups=(Group("g"),)), path)
    print(read_snapshot(path).groups[0].name)
"""
    assert run_python(script) == ["g", "g"]


# --- What is wrong is refused with its place ---

HEAD = 'apiVersion: rmqalloc/v1\nkind: Snapshot\n'  # fmt: skip
BROKER = "{broker_name: b, read_queue_nums: 1}"
JSON_HEAD = '{"apiVersion": "rmqalloc/v1", "kind": "Snapshot",\n'


# What is no document at all, or a bomb, is refused alike in every kind of file:
# tests/documents/test_documents.py.
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("s.json", '{"kind": "Snapshot",\n"apiVersion": "v9"}',
                     "s.json:2:15: apiVersion must be 'rmqalloc/v2' or 'rmqalloc/v1', got", id="json apiVersion"),
        pytest.param("s.json", JSON_HEAD + '"topics": [{"name": "t"},\n {"nmae": 1}]}',
                     r"s.json:3:11: topics\[1\].nmae is not known; .* did you mean name\?", id="json an unknown key"),
        pytest.param("s.json", JSON_HEAD + '"groups": [\n{}]}',
                     r"s.json:3:1: groups\[0\].name is missing", id="json no name"),
        pytest.param("s.json", JSON_HEAD + '"groups": [{"name": "g"},\n {"name": "g"}]}',
                     r"s.json:3:11: groups\[1\].name repeats group g", id="json one name twice"),
        pytest.param("s.json", JSON_HEAD + '"groups": [{"name": "g", "\\u001b[2J": 1}]}',
                     r"groups\[0\].\\x1b\[2J is not known", id="json an escape as key"),
        pytest.param("s.json", JSON_HEAD + f'"groups": [{{"name": "g", "consume_tps": {"9" * 400}}}]}}',
                     "must be a number, got a number of 1329 bits", id="json 400 digits"),
        pytest.param("s.yaml", HEAD + "topics:\n  - name: 3\n",
                     r"s.yaml:4:11: topics\[0\].name must be text, got 3", id="yaml a number as name"),
        pytest.param("s.yaml", HEAD + f"topics:\n  - name: t\n    brokers:\n      - {BROKER}\n      - {BROKER}\n",
                     r"s.yaml:7:23: topics\[0\].brokers\[1\].broker_name repeats broker of topic t b",
                     id="yaml one broker twice"),
        pytest.param("s.yaml", HEAD + "groups:\n- name: g\n  message_model: CLUSTER\n",
                     r"s.yaml:5:18: groups\[0\].message_model must be one of CLUSTERING, BROADCASTING",
                     id="yaml message_model"),
        pytest.param("s.yaml", HEAD + "topics:\n- name: t\n  brokers: [{broker_name: b, read_queue_nums: 2000000}]\n",
                     r"read_queue_nums must be a whole number from 0 to 1048576, got 2000000",
                     id="yaml read_queue_nums"),
        pytest.param("s.yaml", "- 1\n- 2\n",
                     r"s.yaml:1:1: must be a mapping with apiVersion and kind, got \[1, 2\]", id="yaml a list"),
        ("s.yaml", "", "must be a mapping with apiVersion and kind, got None"),
        pytest.param("s.csv", "group,topic,broker,quueue_id\n",
                     "s.csv:1: column quueue_id is not known; .* did you mean queue_id", id="csv an unknown column"),
        pytest.param("s.csv", "group,qid,queue id\n",
                     "s.csv:1: column queue_id is there twice, the second time as queue id", id="csv one column twice"),
        ("s.csv", "group,topic\ng,t\ng,t,x\n", "s.csv:3: has 3 cells, the header 2"),
        ("s.csv", "", "s.csv:1: has no header"),
        ("s.csv", 'group,topic\n"g,t\n', "s.csv:2: unexpected end of data"),
        pytest.param("s.csv", "group,topic,broker,queue_id\ng,t,a,0\ng,t,a,x\n",
                     "s.csv:3: queue_id must be a whole number, got 'x'", id="csv queue_id x"),
        pytest.param("s.csv", "group,topic,broker,queue_id\ng,t,a,1.5\n",
                     "s.csv:2: queue_id must be a whole number, got '1.5'", id="csv queue_id 1.5"),
        pytest.param("s.csv", "topic,broker,read_queue_nums\nt,a,-1\n",
                     "s.csv:2: read_queue_nums must be from 0", id="csv read_queue_nums"),
        pytest.param("s.csv", "group,is_ordered\ng,perhaps\n",
                     "s.csv:2: is_ordered must be true or false, got 'perhaps'", id="csv is_ordered"),
        pytest.param("s.csv", "group,consume_tps\ng,fast\n",
                     "s.csv:2: consume_tps must be a number, got 'fast'", id="csv consume_tps"),
        pytest.param("s.csv", "group,strategy_params\ng,[1]\n",
                     "s.csv: strategy_params must be a JSON object, got list", id="csv strategy_params"),
        pytest.param("s.csv", "group,lag\ng,3\n",
                     "s.csv:2: lag is filled and topic and broker_name and queue_id not", id="csv lag alone"),
        pytest.param("s.csv", "group,topic,broker\ng,t,b\n",
                     "s.csv:2: a row of a group names broker b and no queue_id", id="csv no queue_id"),
        pytest.param("s.csv", "group,strategy\ng,AVG\ng,AVG_BY_CIRCLE\n",
                     "s.csv:3: strategy of group g is 'AVG_BY_CIRCLE' here and 'AVG' further up",
                     id="csv two strategies"),
        pytest.param("s.csv", "group,client,owned_queues\ng,c,2\n",
                     "s.csv: client c has owned_queues 2, but 0 rows of its own", id="csv owned_queues"),
        ("s.csv", 'group,topic\n"g"h,t\n', "s.csv:2: ',' expected after '\"'"),
        pytest.param("s.parquet", b"PAR1" + b"\0" * 40,
                     "s.parquet: not Parquet, or damaged or cut", id="parquet damaged"),
        pytest.param("s.parquet", b"", "s.parquet: not Parquet, or damaged or cut", id="parquet empty"),
        pytest.param("s", "no form at all",
                     "s: its format is not recognised from its name or content, which may be json", id="no form"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_its_place(name, text, said, tmp_path):
    with pytest.raises(SnapshotError, match=said):
        read_snapshot(given_text(tmp_path, name, text))


def test_a_parquet_file_that_is_cut_anywhere(tmp_path):
    path = tmp_path / "s.parquet"
    write_snapshot(read_snapshot(str(ORDERS)), str(path))
    whole = path.read_bytes()
    ends = range(0, len(whole), len(whole) // 40)
    assert len(ends) > 40
    for end in ends:
        path.write_bytes(whole[:end])
        with pytest.raises(SnapshotError, match=r"s.parquet: not Parquet, or damaged or cut"):
            read_snapshot(str(path))


SEEDS = [
    *EXAMPLES,
    *sorted(path for path in (ROOT / "tests" / "data" / "mqadmin").rglob("*") if path.is_file()),
]


@given(
    seed=st.sampled_from(SEEDS),
    at=st.floats(0, 1),
    removed=st.integers(0, 40),
    added=st.binary(max_size=8)
    | st.sampled_from([b"{", b"]", b": ", b"\n", b"*a", b"1e999", b"!!set", b"#Topic"]),
)
@examples(60)
def test_damaged_files_are_read_or_refused(seed, at, removed, added, tmp_path_factory):
    whole = seed.read_bytes()
    place = int(at * len(whole))
    path = tmp_path_factory.getbasetemp() / seed.name
    path.write_bytes(whole[:place] + added + whole[place + removed :])
    with contextlib.suppress(SnapshotError):  # any other error fails
        read_snapshot(str(path))


# --- Forms ---


def test_a_snapshot_beside_another_file_is_refused_with_both_names(tmp_path):
    document = given_text(tmp_path, "a.yaml", "kind: Snapshot")
    output = given_text(tmp_path, "z.txt", "#Group  #Count  #Version")
    with pytest.raises(
        SnapshotError,
        match=r"several files are allowed for outputs of tools only; give one file, got "
        r".*/a.yaml \(yaml\), .*/z.txt \(outputs\)$",
    ):
        read_snapshots([output, document])


# --- Folders, and files that are left out ---


def route(topic):
    return (
        f"$ mqadmin topicRoute -t {topic}\n"
        '{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"a"}],'
        '"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"writeQueueNums":4}]}\n'
    )


def folder_of(tmp_path, **texts):
    """A folder with outputs, deeper ones included, and what is not to be read."""
    folder = tmp_path / "folder"
    for place in (folder / "deeper", folder / ".git"):
        place.mkdir(parents=True)
    given_text(folder, "a.txt", route("orders"))
    given_text(folder / "deeper", "b.txt", route("bills"))
    for hidden in (folder / ".c.txt", folder / ".git" / "d.txt"):
        hidden.write_text(route("hidden"))
    for name, text in texts.items():
        given_text(folder, name, text)
    return folder


def topics_of(snapshot):
    return [topic.name for topic in snapshot.topics]


def test_a_folder_stands_for_its_files(tmp_path):
    folder = folder_of(tmp_path)
    snapshot, warnings = read_snapshots([folder])
    assert (sorted(topics_of(snapshot)), warnings) == (["bills", "orders"], ())
    assert read(folder) == snapshot


@pytest.mark.parametrize(
    "given",
    [["folder", "folder"], ["folder/deeper", "folder"], ["folder/deeper/b.txt", "folder/a.txt"],
     ["folder/deeper/b.txt", "folder"], ["folder/deeper/../a.txt", "folder"], ["link", "folder/a.txt"]],
)  # fmt: skip
def test_a_file_is_read_once_in_one_order(tmp_path, given, monkeypatch):
    folder = folder_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to(folder, target_is_directory=True)
    right, _ = read_snapshots(["folder"])
    for paths in (given, given[::-1]):
        found, warnings = read_snapshots(paths)
        assert (found.topics, found.groups, len(found.sources)) == (right.topics, (), 2)
        assert warnings == ()


def test_what_is_left_out_of_a_folder_is_named(tmp_path):
    folder = folder_of(
        tmp_path,
        **{
            "e.yaml": ORDERS.read_text(),
            "f.md": "# Notes\n",
            "g.txt": "",
            "h.json": "{}",
            "i.bin": b"\xff\xfe\0",
        },
    )
    (folder / "linked").symlink_to(folder / "deeper", target_is_directory=True)
    (folder / "lost").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe")
    snapshot, warnings = read_snapshots([folder])
    said = {
        "e.yaml": "a snapshot (yaml) is not joined with outputs of tools",
        "f.md": "this is of no kind that is known; it begins with '# Notes'",
        "g.txt": "run it again, and keep its errors (2>&1)",
        "h.json": "this is JSON of no form that is known",
        "i.bin": "is UTF-16 text; save it as UTF-8",
        "linked": "a link to a folder is not followed",
        "lost": "it is not a regular file",
        "pipe": "it is not a regular file",
    }
    assert sorted(topics_of(snapshot)) == ["bills", "orders"]
    assert len(warnings) == len(said)
    for name, reason in said.items():
        (warning,) = [words for words in warnings if words.startswith(f"{folder / name}")]
        assert reason in warning and warning.endswith("; it is left out"), name
    left_out = {Path(read.file).name for read in snapshot.sources if read.left_out}
    assert left_out == {*said}


def test_a_snapshot_alone_in_a_folder_is_read(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    given_text(folder, "notes.txt", "what this is\n")
    given_text(folder, "pod.yaml", "apiVersion: v1\nkind: Pod\n")
    given_text(folder, "z.yaml", ORDERS.read_text())
    snapshot, warnings = read_snapshots([folder])
    assert snapshot.groups == read_snapshot(str(ORDERS)).groups
    assert len(warnings) == 2
    given_text(folder, "y.yaml", ORDERS.read_text())
    with pytest.raises(SnapshotError, match=r"got .*y.yaml \(yaml\), .*z.yaml \(yaml\)$"):
        read_snapshots([folder])


def test_of_many_files_that_are_left_out_the_first_are_named(tmp_path):
    folder = folder_of(tmp_path, **{f"n{number:02}.md": "# Notes\n" for number in range(30)})
    _, warnings = read_snapshots([folder])
    assert len(warnings) == 21
    assert warnings[-1] == "10 more files are left out"


def test_folders_that_cannot_be_read_are_refused(tmp_path, monkeypatch):
    (tmp_path / "empty" / ".hidden").mkdir(parents=True)
    with pytest.raises(SnapshotError, match="empty: this folder contains no file, except hidden"):
        read_snapshots([tmp_path / "empty", ORDERS])
    notes = [given_text(tmp_path, f"{name}.md", "# Notes\n") for name in ("m", "n")]
    with pytest.raises(
        SnapshotError,
        match=r"nothing can be read of .*m.md, .*n.md; .*m.md: this is of no kind that is known",
    ):
        read_snapshots(notes)
    with pytest.raises(FileNotFoundError):
        read_snapshots([*notes, tmp_path / "nowhere"])
    folder = folder_of(tmp_path)
    monkeypatch.setattr(given_sources, "MOST_FILES", 4)
    with pytest.raises(
        SnapshotError, match="has more than 4 files and folders; give the files that"
    ):
        read_snapshots([folder])


def test_all_files_have_as_many_bytes_as_one(tmp_path, monkeypatch):
    folder = folder_of(tmp_path)
    monkeypatch.setattr(read_budget, "MAX_BYTES", 2 * len(route("bills")))
    with pytest.raises(
        SnapshotError, match=r"b.txt: the files up to this one have more than 0 MiB"
    ):
        read_snapshots([folder])


def test_standard_input_is_read_once():
    with pytest.raises(SnapshotError, match="standard input is given twice, and can be read once"):
        read_snapshots(["-", "-"])


def test_unknown_forms_are_refused(tmp_path):
    with pytest.raises(SnapshotError, match="form 'xml' is not known; known are auto, json, yaml"):
        read_snapshot("-", "xml")
    with pytest.raises(SnapshotError, match=r"suffix '.xml' is not known; known are .json"):
        write_snapshot(Snapshot(), str(tmp_path / "s.xml"))
    with pytest.raises(SnapshotError, match="form 'outputs' cannot be written"):
        write_snapshot(Snapshot(), "-", "outputs")


# --- The schema ---


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_keep_the_schema(path):
    assert (
        list(faults(to_document(read_snapshot(str(path))), snapshot_schema(), snapshot_schema()))
        == []
    )


@given(SNAPSHOTS)
@examples(50)
def test_whatever_can_be_read_keeps_the_schema(snapshot):
    assert list(faults(to_document(snapshot), snapshot_schema(), snapshot_schema())) == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "Plan"}, "$.kind: value"),
        ({"topics": [{}]}, "$.topics[]: name is missing"),
        ({"topics": [{"name": 1}]}, "$.topics[].name: string"),
        ({"groups": [{"name": "g", "tps": 1}]}, "$.groups[].tps: unknown"),
        (
            {"groups": [{"name": "g", "server_assignment": "PUSH"}]},
            "$.groups[].server_assignment: value",
        ),
        (
            {"groups": [{"name": "g", "pop_share_queue_num": -(2**63) - 1}]},
            "$.groups[].pop_share_queue_num: range",
        ),
    ],
)
def test_what_breaks_the_schema_is_refused(fault, said):
    document = {"apiVersion": "rmqalloc/v1", "kind": "Snapshot", **fault}
    assert list(faults(document, snapshot_schema(), snapshot_schema())) == [said]
    if "server_assignment" not in said:  # a word that only files are held to
        with pytest.raises(SnapshotError):
            from_document(document)
