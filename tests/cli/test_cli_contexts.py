"""Clusters by name: which counts, what it sets, and that keys of one cluster go to no other."""

import json

import pytest

import rmqalloc
from rmqalloc.cli import main
from rmqalloc.snapshot import Snapshot

CONFIG = """\
contexts:
  production:
    name_servers: 10.0.0.1:9876;10.0.0.2:9876
    acl_file: keys.yml
    timeout: 9
    deadline: 30s
    parallel: 2
    lag: false
    running_info: false
    groups: order-*
    topics: [orders, refunds]
  test:
    name_servers: 10.1.0.1:9876
    tls: true
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the configuration, with two clusters."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("RMQALLOC_CONTEXT", "NAMESRV_ADDR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "rmqalloc"
    folder.mkdir()
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "keys.yml").write_text("accessKey: a\nsecretKey: b\n")
    return folder


@pytest.fixture
def asked(monkeypatch):
    """What the running cluster was asked for, instead of asking it."""
    made = []

    def fetch(servers, groups, topics, on_progress, **how):
        made.append((servers, groups, topics, how))
        return Snapshot()

    monkeypatch.setattr(rmqalloc, "fetch", fetch)
    return made


def reached(asked, *arguments):
    """Return the servers, patterns and options that `snapshot` asks with."""
    main(["snapshot", *arguments])
    [one] = asked
    asked.clear()
    return one


def test_a_context_sets_every_option(folder, asked):
    servers, groups, topics, how = reached(asked, "--context", "production")
    assert (servers, groups, topics) == (
        "10.0.0.1:9876;10.0.0.2:9876",
        ("order-*",),
        ("orders", "refunds"),
    )
    assert how["acl_file"] == str(folder / "keys.yml")
    assert (how["timeout"], how["deadline"], how["parallel"], how["tls"]) == (9.0, 30.0, 2, False)
    assert (how["lag"], how["running_info"]) == (False, False)
    servers, groups, topics, how = reached(asked, "--context", "test")
    assert (servers, groups, topics, how["tls"], how["timeout"]) == (
        "10.1.0.1:9876",
        ("*",),
        ("*",),
        True,
        5,
    )


def test_what_is_given_beside_a_context_replaces_its_value(folder, asked):
    given = ["--context", "production", "--acl-file", str(folder / "config.yaml"), "-g", "pay-*"]
    _, groups, topics, how = reached(asked, *given, "--tls")
    assert (groups, topics) == (("pay-*",), ("orders", "refunds"))
    assert (how["acl_file"], how["tls"]) == (str(folder / "config.yaml"), True)


def test_the_nearest_name_counts(folder, asked, monkeypatch, capsys):
    assert main(["context", "use", "test"]) == 0
    assert reached(asked)[0] == "10.1.0.1:9876"
    assert "note: cluster of the context test" in capsys.readouterr().err
    monkeypatch.setenv("NAMESRV_ADDR", "10.2.0.1:9876")
    assert reached(asked)[0] == "10.2.0.1:9876"
    monkeypatch.setenv("RMQALLOC_CONTEXT", "production")
    assert reached(asked)[0].startswith("10.0.0.1")
    assert reached(asked, "--context", "test")[0] == "10.1.0.1:9876"


@pytest.mark.parametrize("how", ["use", "variable"])
def test_keys_of_a_context_go_to_no_other_cluster(how, folder, asked, monkeypatch):
    if how == "use":
        main(["context", "use", "production"])
    else:
        monkeypatch.setenv("RMQALLOC_CONTEXT", "production")
    servers, groups, _, options = reached(asked, "-n", "10.9.0.1:9876")
    assert (servers, groups, options["acl_file"]) == ("10.9.0.1:9876", ("*",), None)


def test_a_file_needs_no_context(folder, asked, monkeypatch, capsys):
    monkeypatch.setenv("RMQALLOC_CONTEXT", "gone")
    assert main(["plan", "-f", "example:seed", "--scale", "3"]) == 0
    assert asked == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["snapshot", "--context", "test", "-n", "10.9.0.1:9876"],
            "--context and -n both name a cluster",
        ),
        (
            ["plan", "--context", "test", "-f", "example:seed", "--scale", "3"],
            "-f and --context are both given",
        ),
        (["plan", "--scale", "3"], "-n HOST:PORT or --context NAME"),
        (["context", "test"], "no context is in use"),
    ],
)
def test_wrong_usage(arguments, said, folder, asked, capsys):
    assert main(arguments) == 64
    err = capsys.readouterr().err
    assert said in err and "note: cluster of the context" not in err
    assert asked == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contexts: {a: {}}", "contexts.a.name_servers is missing"),
        pytest.param(
            "contexts: {a: {name_servers: x, secret_key: y}}",
            "contexts.a.secret_key is not known",
            id="an unknown key",
        ),
        pytest.param(
            "contexts: {a: {name_servers: x, timeout: soon}}",
            "contexts.a.timeout must be a number",
            id="timeout: soon",
        ),
        ("contexts: {a: {name_servers: x, parallel: 65}}", "from 1 to 64"),
        ("contexts: [", "config.yaml"),
    ],
)
def test_a_wrong_file_is_named_with_its_place(text, said, folder, capsys):
    (folder / "config.yaml").write_text(text)
    assert main(["context", "list"]) == 1
    assert said in capsys.readouterr().err


def test_a_name_that_is_not_there_gets_those_that_are(folder, asked, capsys):
    assert main(["snapshot", "--context", "tset"]) == 64
    assert (
        "there is no context 'tset'; " in (said := capsys.readouterr().err)
        and "did you mean test?" in said
    )
    assert main(["context", "use", "tset"]) == 64
    (folder / "config.yaml").unlink()
    assert main(["snapshot", "--context", "test"]) == 64
    assert "config.yaml lists no context" in capsys.readouterr().err
    assert not (folder / "context").exists()


def test_the_list_says_which_is_in_use(folder, capsys):
    main(["context", "use", "production"])
    capsys.readouterr()
    main(["context", "list", "-o", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert [(row["context"], row["in_use"], row["tls"]) for row in rows] == [
        ("production", True, False),
        ("test", False, True),
    ]
    (folder / "config.yaml").unlink()
    main(["context", "list"])
    assert "lists no cluster" in capsys.readouterr().out


def test_one_that_does_not_answer_is_a_failure(folder, capsys):
    (folder / "config.yaml").write_text(
        "contexts: {here: {name_servers: '127.0.0.1:1', timeout: 0.2}}"
    )
    assert main(["context", "test", "here"]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
