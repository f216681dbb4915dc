"""Limits of what is read from outside, at their edge: exactly there, and one beyond."""

import gzip
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc import Fleet, model
from rmqalloc.cli import _allocate_command as allocate_command
from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import _planning as planning
from rmqalloc.cli import main
from rmqalloc.documents import json_text, read_budget, source, yaml_text
from rmqalloc.documents.document_errors import TextError
from rmqalloc.documents.fields import Duration, FieldError, Members, Text, Whole
from rmqalloc.documents.read_budget import MAX_DEPTH
from rmqalloc.documents.store import _staging as staging
from rmqalloc.documents.store import _writing as writing
from rmqalloc.evidence import _decide_strategies
from rmqalloc.fleet import arrow, unit_sizes
from rmqalloc.fleet.arrow_columns import Column
from rmqalloc.model import MAX_TEXT_BYTES, MOST_MEMBERS
from rmqalloc.remoting import frames as frame
from rmqalloc.remoting import loose_json
from rmqalloc.remoting.body_fields import MAX_NAME, AnswerError, text_of
from rmqalloc.scenarios.change_flags import FlagError, scenario_of_flags
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Group


@pytest.mark.parametrize("form", [json_text, yaml_text])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_text_may_be_nested_so_deep(form, opening, closing):
    def nested(depth):
        return form.loads(opening * depth + "1" + closing * depth)

    assert nested(MAX_DEPTH)
    with pytest.raises(TextError, match=f"is nested deeper than {MAX_DEPTH} levels"):
        nested(MAX_DEPTH + 1)


def test_an_alias_counts_the_levels_and_values_that_it_stands_for(monkeypatch):
    def levels(outer):
        inner = MAX_DEPTH // 2
        return f"x: &a {'[' * inner}1{']' * inner}\ny: {'[' * outer}*a{']' * outer}\n"

    assert yaml_text.loads(levels(MAX_DEPTH - MAX_DEPTH // 2 - 1))  # and the mapping around all
    with pytest.raises(TextError, match="nested deeper"):
        yaml_text.loads(levels(MAX_DEPTH - MAX_DEPTH // 2))
    values = "x: &a [1, 2]\ny: [*a, *a]\n"  # 1 + 3 + 1 + 2 × 3
    monkeypatch.setattr(yaml_text, "MAX_NODES", 11)
    assert yaml_text.loads(values)
    monkeypatch.setattr(yaml_text, "MAX_NODES", 10)
    with pytest.raises(TextError, match="more than 10 values"):
        yaml_text.loads(values)


def test_json_may_take_so_much_memory(monkeypatch):
    text = '[{"a": 1}, {}]'
    monkeypatch.setattr(json_text, "most_made", lambda: read_budget.made_of_json(text))
    assert json_text.loads(text) == [{"a": 1}, {}]
    monkeypatch.setattr(json_text, "most_made", lambda: read_budget.made_of_json(text) - 1)
    with pytest.raises(TextError, match="contains more values"):
        json_text.loads(text)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_may_have_so_many_bytes(tmp_path, monkeypatch, packed):
    path = tmp_path / "x"
    monkeypatch.setattr(read_budget, "MAX_BYTES", 1000)
    for n in (1000, 1001):
        data = os.urandom(400) + bytes(n - 400)
        path.write_bytes(gzip.compress(data) if packed else data)
        if n > 1000:
            with pytest.raises(SnapshotError, match="has more than 0 MiB"):
                source.read_source(path, SnapshotError, packed)
        else:
            assert source.read_source(path, SnapshotError, packed).data == data


def test_a_packed_file_may_be_as_large_as_a_plain_one(tmp_path, monkeypatch):
    data, path = os.urandom(400), tmp_path / "x"
    path.write_bytes(gzip.compress(data))
    monkeypatch.setattr(read_budget, "MAX_BYTES", path.stat().st_size)  # more than it has unpacked
    assert source.read_source(path, SnapshotError, packed=True).data == data
    monkeypatch.setattr(read_budget, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(SnapshotError, match="has more than 0 MiB"):
        source.read_source(path, SnapshotError, packed=True)


def test_names_and_headers_of_the_wire(monkeypatch):
    assert text_of("x" * MAX_NAME, "n") == "x" * MAX_NAME
    with pytest.raises(AnswerError, match="a name of 4,097 characters; the limit is 4,096"):
        text_of("x" * (MAX_NAME + 1), "n")
    header = b'{"code":0,"flag":1,"opaque":1,"extFields":{"a":"b"}}'
    whole = len(header).to_bytes(4, "big") + header
    for name, bound in (
        ("MAX_HEADER", len(header)),
        ("_MAX_HEADER_MARKS", sum(map(header.count, b"[{,"))),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(frame, name, bound)
            assert frame.decode(whole).opaque == 1
            patch.setattr(frame, name, bound - 1)
            with pytest.raises(
                frame.FrameError, match=f"({bound - 1} (are read|values)|limit is {bound - 1})"
            ):
                frame.decode(whole)


def test_a_body_of_a_server_may_be_nested_so_deep():
    for opening, closing in (("[", "]"), ("{1:", "}")):  # the standard parser, the tolerant one
        assert loose_json.loads(
            (opening * loose_json.MAX_DEPTH + "1" + closing * loose_json.MAX_DEPTH).encode()
        )
        with pytest.raises(loose_json.JsonError, match="nested deeper than 64 levels"):
            loose_json.loads((opening * 65 + "1" + closing * 65).encode())


def test_names_of_files_and_links(tmp_path):
    assert staging.stem_of("x" * 100) == "x" * 100
    assert len(staging.stem_of("x" * 101)) == 32
    target = tmp_path / "0"
    for n in range(1, 41):
        (tmp_path / f"{n}").symlink_to(tmp_path / f"{n - 1}")
    assert writing._followed(tmp_path / "39") == target
    with pytest.raises(OSError, match="symbolic links"):
        writing._followed(tmp_path / "40")


def test_a_unit_may_have_so_many_queues():
    unit_sizes.check_size(model.MAX_PER_UNIT, "queues")
    with pytest.raises(ValueError, match="at most 2147483647"):
        unit_sizes.check_size(model.MAX_PER_UNIT + 1, "queues")


def test_times_and_members_of_a_script():
    assert [Duration().read(text) for text in ("24h", "1440m", "86400s", "86400000ms")] == [
        86_400_000
    ] * 4
    for text in ("86400001ms", "86401s", "1441m", "25h"):
        with pytest.raises(FieldError, match="from 0ms to 24h"):
            Duration().read(text)
    assert Duration(1).read("1ms") == 1
    with pytest.raises(FieldError, match="from 1ms to 24h"):
        Duration(1).read("0ms")
    assert Members().read(MOST_MEMBERS) == MOST_MEMBERS
    with pytest.raises(FieldError, match="from 0 to 5000"):
        Members().read(MOST_MEMBERS + 1)


def test_how_many_lines_are_told_of_gates(capsys):
    def lines(n):
        planning.tell_broken(range(n))
        return capsys.readouterr().err.splitlines()

    assert lines(planning.MOST_TOLD)[-1] == f"gate not kept: {planning.MOST_TOLD - 1}"
    assert lines(planning.MOST_TOLD + 1)[-1] == "gate not kept: and 1 more"


def test_how_many_queues_are_shown(monkeypatch, capsys):
    monkeypatch.setattr(allocate_command, "MAX_QUEUES", 10)
    line = ["allocate", "-t", "T", "--clients", "c1", "-s", "AVG", "-o", "csv", "--queues"]
    assert main([*line, "a:4,b:6"]) == 0
    assert main([*line, "a:4,b:7"]) == exit_codes.USAGE
    assert "11 queues; from 1 to 10 can be shown" in capsys.readouterr().err


def test_numbers_of_nine_digits_are_read_and_longer_ones_are_not():
    assert scenario_of_flags({"scale": ["99999"]}) is not None
    for digits, said in ((9, "100,000|100000"), (10, "at most nine digits")):
        with pytest.raises(FlagError, match=said):
            scenario_of_flags({"scale": ["9" * digits]})
    explain = ["explain", "-f", "example:seed", "-g", "by-ring", "-t", "TopicTest", "--queue"]
    assert main([*explain, f"broker-a:{'9' * 9}"]) == exit_codes.FAILURE  # there is no such queue
    assert main([*explain, f"broker-a:{'9' * 10}"]) == exit_codes.USAGE


def test_a_fraction_of_a_group_explained_by_chance_is_counted_exactly():
    """16 candidates for 2 owners of 40 clients are 1 in 100, which is not less; in numbers with a
    point it was.
    """
    for n_tried, n_owners, n_clients in ((16, 2, 40), (1, 2, 10), (4, 2, 20), (10, 3, 10)):
        fit = SimpleNamespace(counts=range(n_tried), of=n_owners)
        group = Group("g", clients=tuple(Client(f"c{i}") for i in range(n_clients)))
        assert not _decide_strategies._is_no_chance(fit, group)
        assert _decide_strategies._is_no_chance(
            fit, replace(group, clients=(*group.clients, Client("more")))
        )
    assert _decide_strategies._is_no_chance(SimpleNamespace(counts=range(16), of=10**9), group)


def test_merges_may_bring_as_many_values_as_a_file_may_have(monkeypatch):
    text = "a: &a {k1: 1, k2: 2, k3: 3, k4: 4}\nx: {<<: [*a, *a, *a]}\n"  # 11 values, and 12 that merges bring
    monkeypatch.setattr(yaml_text, "MAX_NODES", 12)
    assert len(yaml_text.loads(text)["x"]) == 4
    monkeypatch.setattr(yaml_text, "MAX_NODES", 11)
    with pytest.raises(TextError, match="more than 11 values"):
        yaml_text.loads(text)


def test_values_of_yaml_may_all_have_a_key_a_beginning_and_an_end(monkeypatch):
    data = {f"k{i}": {} for i in range(39)}
    monkeypatch.setattr(yaml_text, "MAX_NODES", 40)
    assert yaml_text.loads(yaml_text.dump(data)) == data


@pytest.mark.parametrize("most", [700, 0])
def test_a_whole_number_has_as_many_digits_as_python_reads(most):
    """What is wrong further on is named, and not a number before it that can be read."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(most)
    try:
        with pytest.raises(TextError, match="1:704: NaN is not a JSON number"):
            json_text.loads(f"[{'9' * 700}, NaN]")
        if most:
            with pytest.raises(TextError, match="at most 700 digits, got 701"):
                json_text.loads(f"[{'9' * 701}, NaN]")
    finally:
        sys.set_int_max_str_digits(before)


def test_a_unit_is_suggested_for_numbers_that_may_be_times():
    for text in ("1", "86400000"):
        with pytest.raises(FieldError, match=f'which has no unit: write "{text}s"'):
            Duration().read(text)
    for text in ("0", "86400001", "000000001"):
        with pytest.raises(FieldError) as refused:
            Duration(1).read(text)
        assert "no unit" not in str(refused.value)


def test_integers_of_arrow_at_their_bounds():
    for missing in ([], [None]):  # nulls are looked for in another way
        given = pa.array([1, 5, 3, *missing], pa.int64())
        numbers, wrong = Column("n", given.type, [given]).integers(1, 5)
        assert (numbers.tolist(), wrong.tolist()) == (
            [1, 5, 3, *(0 for _ in missing)],
            [3] if missing else [],
        )
    for values, bad in (([-1, 0, 5], [0]), ([0, 5, 6], [2]), ([0, 5], [])):
        numbers, wrong = Column("n", given.type, [pa.array(values)]).integers(0, 5)
        assert (numbers.tolist(), wrong.tolist()) == ([max(n, 0) % 6 for n in values], bad)


@pytest.mark.parametrize("most", [9, 10, 11])
def test_offsets_are_as_wide_as_they_must_be(most, monkeypatch):
    """Those of int32 hold fewer than 2**31 queues or bytes; ten stand for them here."""
    monkeypatch.setattr(arrow, "_OF_INT64", most)
    fleet = Fleet.from_groups([("g" * 10, "t", [("b", i) for i in range(10)], ["c"])])
    table = fleet.to_arrow(np.zeros(10, np.int32))
    is_wide = most <= 10
    assert table["owners"].type == (pa.large_list(pa.int32()) if is_wide else pa.list_(pa.int32()))
    assert table["consumer_group"].type == (pa.large_string() if is_wide else pa.string())
    assert table["owners"].to_pylist() == [[0] * 10]


def test_the_longest_text_of_a_scenario():
    for text in ("x" * (MAX_TEXT_BYTES - 1), "x" * MAX_TEXT_BYTES, "ü" * (MAX_TEXT_BYTES // 2)):
        assert Text().read(text) == text
    for text in ("x" * (MAX_TEXT_BYTES + 1), "ü" * (MAX_TEXT_BYTES // 2) + "x"):
        with pytest.raises(
            FieldError, match=f"at most {MAX_TEXT_BYTES} bytes long, got {MAX_TEXT_BYTES + 1}"
        ):
            Text().read(text)


def test_whole_numbers_at_both_ends():
    assert [Whole(1, 3).read(n) for n in (1, 3)] == [1, 3]
    for n in (0, 4):
        with pytest.raises(FieldError, match=f"must be a whole number from 1 to 3, got {n}"):
            Whole(1, 3).read(n)
