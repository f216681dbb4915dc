"""Each heading that a table for people prints is a name: in --sort, --where and --columns."""

import csv
import io
import json

import pytest
from audited import group, snapshot, topic
from cli_commands import runner

from rmqalloc.results import renderer
from rmqalloc.snapshot.plain_data import to_document

MANY_GROUPS = 8


def saved(path, n_clients):
    """Save a snapshot of many groups of as many clients."""
    ids = [f"10.0.0.{i}@a" for i in range(1, n_clients + 1)]
    groups = [group(*ids, name=f"group-{i}") for i in range(MANY_GROUPS)]
    cluster = snapshot(*groups, topics=(topic(a=12),))
    path.write_text(json.dumps(to_document(cluster)))
    return str(path)


@pytest.fixture
def commands(tmp_path):
    """Command lines of all kinds of tables, by name."""
    before, after = saved(tmp_path / "before.json", 3), saved(tmp_path / "after.json", 5)
    orders = ("-f", "example:orders")
    return {
        "show": ("show", *orders),
        "show by client": ("show", "--by", "client", *orders),
        "show by host": ("show", "--by", "host", *orders),
        "groups": ("groups", *orders),
        "plan of a group": ("plan", "-g", "billing", "--scale", "5", *orders),
        "plan of many groups": ("plan", "--scale", "5", "-f", before),
        "compare": ("compare", *orders),
        "diff of many groups": ("diff", before, after),
        "diff of a group": ("diff", "-g", "group-1", before, after),
        "rollout of a group": ("rollout", "restart", "-g", "billing", *orders),
        "best restart": ("rollout", "restart", "--best", "-g", "billing", *orders),
        "rollout of many groups": ("rollout", "restart", "-f", before),
    }


@pytest.fixture
def headings(monkeypatch):
    """Headings of the tables that were printed as text so far."""
    found, laid = {}, renderer._laid

    def listening(header, *arguments):
        found.update(dict.fromkeys(name for name in header if name))
        return laid(header, *arguments)

    monkeypatch.setattr(renderer, "_laid", listening)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "show",
        "show by client",
        "show by host",
        "groups",
        "plan of a group",
        "plan of many groups",
        "compare",
        "diff of many groups",
        "diff of a group",
        "rollout of a group",
        "best restart",
        "rollout of many groups",
    ],
)
def test_a_printed_heading_is_a_name(name, commands, headings, capsys):
    run = runner(capsys)
    code, _, _ = run(*commands[name])
    printed = list(headings)
    assert printed
    for heading in printed:
        shown, out, err = run(*commands[name], "--columns", heading, "-o", "csv")
        assert shown == code, (heading, err)
        assert len(next(csv.reader(io.StringIO(out)))) == 1
        for option, value in (("--sort", f"-{heading}"), ("--where", f"{heading}!=null")):
            found, _, err = run(*commands[name], option, value, "-o", "csv")
            assert found == code, (heading, err)


def test_a_heading_means_the_column_under_it(capsys):
    run = runner(capsys)
    by_client = ("show", "--by", "client", "-f", "example:orders")
    _, as_text, _ = run(*by_client, "--top", "1")
    _, as_csv, _ = run(*by_client, "--columns", "client,group,queues", "--top", "1", "-o", "csv")
    header, row = csv.reader(io.StringIO(as_csv))
    assert header == ["client_id", "consumer_group", "n_queues"]
    assert any(row == line.split()[-len(line.split()) :][:3] for line in as_text.splitlines())


@pytest.mark.parametrize(
    ("option", "value"), [("--sort", "-gorup"), ("--columns", "gorup"), ("--where", "gorup=x")]
)
def test_a_wrong_name_gets_near_ones(option, value, capsys):
    code, out, err = runner(capsys)("groups", "-f", "example:orders", option, value)
    assert (code, out) == (64, "")
    assert "no column 'gorup'" in " ".join(err.split()) and "did you mean group?" in err
