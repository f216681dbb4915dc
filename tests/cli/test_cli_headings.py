"""Each heading that a table for people prints is a name: in --sort, --where and --columns."""

import csv
import io
import json

import pytest
from audited import group, snapshot, topic
from cli_commands import runner
from watched_snapshots import Watched, cluster

from rmqalloc.history import Recorder
from rmqalloc.results import renderer
from rmqalloc.snapshot.plain_data import to_document

MANY_GROUPS = 8


def saved(path, n_clients):
    """Save a snapshot of many groups of as many clients, each of two topics."""
    ids = [f"10.0.0.{i}@a" for i in range(1, n_clients + 1)]
    topics = topic(a=12), topic("second", a=7)
    names = tuple(one.name for one in topics)
    groups = [group(*ids, name=f"group-{i}", subscriptions=names) for i in range(MANY_GROUPS)]
    cluster = snapshot(*groups, topics=topics)
    path.write_text(json.dumps(to_document(cluster)))
    return str(path)


def recorded(path):
    """Record a history in which a client joins a group and another leaves it."""
    watched = Watched()
    with Recorder(str(path)) as recorder:
        for number, clients in enumerate([("c1", "c2")] * 3 + [("c1", "c3")] * 3):
            now = cluster(("billing", *clients))
            recorder.record(watched.observe(now, 1_795_000_000.0 + 30 * number))
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
        "history": ("history", "-f", recorded(tmp_path / "cluster.history")),
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

    def listening(header, *arguments, **named):
        found.update(dict.fromkeys(name for name in header if name))
        return laid(header, *arguments, **named)

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
        "history",
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


def test_of_many_groups_a_heading_means_the_figure_of_a_group(tmp_path, capsys):
    run, path = runner(capsys), saved(tmp_path / "many.json", 3)
    for words in (("rollout", "restart"), ("plan", "--scale", "5")):
        printed = [
            line.removeprefix("! ").split() for line in run(*words, "-f", path)[1].splitlines()
        ]
        columns = ("--columns", "group,moved", "--where", "moved>0", "--sort", "group")
        shown = [line.split() for line in run(*words, "-f", path, *columns)[1].splitlines()]
        assert len(shown) == 1 + MANY_GROUPS
        name, moved = shown[1]
        assert moved in next(line for line in printed if line[:1] == [name])


def test_steps_print_the_figure_that_their_heading_names(capsys):
    run = runner(capsys)
    words = ("rollout", "restart", "-g", "billing", "-f", "example:orders")
    assert "unowned written" in run(*words)[1]
    header = run(*words, "--columns", "unowned written", "-o", "csv")[1].splitlines()[0]
    assert header == "unowned_written"


@pytest.mark.parametrize(
    ("option", "value"), [("--sort", "-gorup"), ("--columns", "gorup"), ("--where", "gorup=x")]
)
def test_a_wrong_name_gets_near_ones(option, value, capsys):
    code, out, err = runner(capsys)("groups", "-f", "example:orders", option, value)
    assert (code, out) == (64, "")
    assert "no column 'gorup'" in " ".join(err.split()) and "did you mean group?" in err
