"""``rmqalloc check -o sarif``: every result points at the line of its group, or at none where there
are no lines.
"""

import gzip
import io
import json
import os
from pathlib import Path
from urllib.parse import unquote

import pytest
from audited import group, snapshot
from checkout import DATA

import rmqalloc
from rmqalloc import audit
from rmqalloc.cli import main
from rmqalloc.snapshot.examples import find
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.files.group_lines import group_places

MQADMIN = DATA / "mqadmin"
NAMES = ("first", "second", "third")
CLUSTER = snapshot(*(group("c1", "c1", name=name) for name in NAMES))


@pytest.fixture
def run(capsys):
    """Run ``check``; gives the exit code, the results, and what went to standard error."""

    def run(*arguments):
        capsys.readouterr()  # of other commands
        code = main(["check", *map(str, arguments), "-o", "sarif"])
        out, err = capsys.readouterr()
        return code, json.loads(out)["runs"][0]["results"] if out else [], err

    return run


def pointed(results):
    """Path, group and first line of every result, None where there is none."""
    for one in results:
        (place,) = one["locations"]
        physical = place.get("physicalLocation", {})
        path = physical.get("artifactLocation", {}).get("uri")
        line = physical.get("region", {}).get("startLine")
        yield path and unquote(path), place["logicalLocations"][0]["name"], line


def assert_points_at_groups(results, path, names):
    """At the line in which the group's name stands first."""
    lines = Path(path).read_text().split("\n")
    found = list(pointed(results))
    assert {name for _, name, _ in found} == set(names)
    for where, name, line in found:
        assert where == str(path)
        # A document tells where the group's mapping begins: its name stands there or, in JSON, on
        # the next line.
        assert name in "".join(lines[line - 1 : line + 1]), (name, line)
        assert not any(name in before for before in lines[: line - 1])


@pytest.mark.parametrize("suffix", ["yaml", "json", "csv"])
def test_files_with_lines(suffix, run, tmp_path):
    path = tmp_path / f"a snapshot.{suffix}"
    write_snapshot(CLUSTER, str(path))
    code, results, _ = run("-f", path)
    assert code == 2
    assert_points_at_groups(results, path, NAMES)


def test_a_cell_of_two_lines_shifts_none_below(run, tmp_path):
    path, names = tmp_path / "s.csv", ("x1\nb", "x2\nd", "x3")
    write_snapshot(snapshot(*(group("c1", "c1", name=name) for name in names)), str(path))
    lines = path.read_text().split("\n")
    heads = {
        name: next(
            i for i, line in enumerate(lines, 1) if name.split("\n")[0] in line.split(",")[0]
        )
        for name in names
    }
    found = list(pointed(run("-f", path)[1]))
    assert {name for _, name, _ in found} == set(names)
    assert {(name, line) for _, name, line in found} == set(heads.items())


def test_outputs_of_mqadmin(run, tmp_path):
    path = tmp_path / "session.log"
    parts = [
        f"$ mqadmin topicRoute -l -t {one}\n{(MQADMIN / f'topicRoute.{one}.txt').read_text()}"
        for one in ["payments"]
    ]
    parts += [
        f"$ mqadmin {command} -g {name}\n{(MQADMIN / f'{command}.{name}.txt').read_text()}"
        for command, name in (("consumerStatus", "audit"), ("consumerConnection", "order-svc"))
    ]
    path.write_text("".join(parts))
    heads = [
        i
        for i, line in enumerate(path.read_text().split("\n"), 1)
        if line.startswith(("#Index", "#ClientId"))
    ]
    found = {(name, line) for _, name, line in pointed(run("-f", path)[1])}
    assert found == {("audit", heads[0]), ("order-svc", heads[1])}


def test_parquet_has_no_lines_so_none_is_told(run, tmp_path):
    path = tmp_path / "s.parquet"
    write_snapshot(CLUSTER, str(path))
    found = list(pointed(run("-f", path)[1]))
    assert {name for _, name, _ in found} == set(NAMES)
    assert {(where, line) for where, _, line in found} == {(str(path), None)}


@pytest.mark.parametrize("name", ["orders", "duplicate-id"])
def test_examples(name, run):
    path = find(f"example:{name}", "snapshot").path
    _, results, _ = run("-f", f"example:{name}")
    found = list(pointed(results))
    assert found
    places = group_places([path])
    lines = path.read_text().split("\n")
    for where, one, line in found:
        assert (where, line) == (str(path), places[one].line)
        assert one in lines[line - 1]


def test_standard_input_is_read_once_and_is_no_file(run, monkeypatch, tmp_path):
    path = tmp_path / "s.yaml"
    write_snapshot(CLUSTER, str(path))

    class Once(io.BytesIO):
        n = 0

        def read(self, *n):
            self.n += 1
            assert self.n == 1, "standard input is read again"
            return super().read(*n)

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Once(path.read_bytes())))
    found = list(pointed(run("-f", "-")[1]))
    assert {name for _, name, _ in found} == set(NAMES)
    assert {(where, line) for where, _, line in found} == {(None, None)}


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="descriptors are files on POSIX only")
def test_a_pipe_is_read_once(run, tmp_path):
    """As of ``-f <(program)``: a second reading would find nothing."""
    path = tmp_path / "s.yaml"
    write_snapshot(CLUSTER, str(path))
    end, start = os.pipe()
    try:
        with os.fdopen(start, "wb") as file:
            file.write(path.read_bytes())
        code, results, _ = run("-f", f"/dev/fd/{end}")
    finally:
        os.close(end)
    assert code == 2
    places = group_places([path])
    assert {(name, line) for _, name, line in pointed(results)} == {
        (name, places[name].line) for name in NAMES
    }


def test_a_file_that_changes_meanwhile_gives_no_false_lines(run, monkeypatch, tmp_path):
    path, check = tmp_path / "s.yaml", audit.check_snapshot
    write_snapshot(CLUSTER, str(path))
    places = group_places([path])

    def checked(*arguments):
        path.write_text("\n" * 100 + path.read_text())
        return check(*arguments)

    monkeypatch.setattr(rmqalloc, "check", checked)
    found = {(name, line) for _, name, line in pointed(run("-f", path)[1])}
    assert path.read_text().startswith("\n" * 100), "the file did change"
    assert found == {(one, places[one].line) for one in NAMES}


def test_a_packed_file_is_refused_and_gives_no_results(run, tmp_path):
    path = tmp_path / "s.yaml.gz"
    write_snapshot(CLUSTER, str(tmp_path / "s.yaml"))
    path.write_bytes(gzip.compress((tmp_path / "s.yaml").read_bytes()))
    code, results, err = run("-f", path)
    assert (code, results) == (1, [])
    assert "s.yaml.gz: this is a file packed by gzip" in err


def test_a_group_outside_the_file_has_no_line(run, tmp_path):
    """Those that only a plan names, and findings of no group at all."""
    path, plan = tmp_path / "s.yaml", tmp_path / "plan.json"
    write_snapshot(CLUSTER, str(path))
    more = tmp_path / "more.yaml"
    write_snapshot(
        snapshot(*(group("c1", "c2", name=name) for name in (*NAMES, "only-planned"))), str(more)
    )
    assert main(["plan", "-f", str(more), "--scale", "3", "--out", str(plan)]) == 0
    found = {name: line for _, name, line in pointed(run("-f", path, "--plan", plan)[1])}
    assert found["only-planned"] is None
    assert found["first"] is not None
