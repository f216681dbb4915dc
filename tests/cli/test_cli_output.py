"""What goes to a terminal: whatever files and servers call things, nothing but visible text in
lines of ours.
"""

import ast
import io
import json
import sys

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkout import ROOT
from fuzz.readers import SNAPSHOT

from rmqalloc.cli import _app as app
from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import _sink as sink
from rmqalloc.cli import main
from rmqalloc.errors import ArgumentError
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.text import MOST_SAID, harmless, message

FORGED = "rmqalloc: forged"
HOSTILE = [
    "\x1b[2J",
    f"a\n{FORGED}",
    f"a\r\n{FORGED}\x9b31m",
    "\u202egnp\x07\x08\x7f",
    f"\x1b]0;t\x07\u2028{FORGED}",
    "\x85\x0b\x0c\u200b\u2066\ufeff",
    "\x1b[31m\\x1b",
]


NAMES = {
    "orders",
    "b-1",
    "b-2",
    "g",
    "h",
    "1@a",
    "2@b",
    "3@c",
    "hz",
    "JAVA",
    "5.3.0",
    "by hand",
    "timed out",
    "GET_ALL",
}


def renamed(data, name):
    """Data with the name behind every other in it."""
    if isinstance(data, dict):
        return {key: renamed(value, name) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [renamed(one, name) for one in data]
    return f"{data}{name}" if data in NAMES else data


def hostile_files(folder, name):
    """Files in which everything that has a name bears this one."""
    snapshot = renamed(to_document(SNAPSHOT), name)
    snapshot["groups"][1]["strategy"] = f"CONFIG{name}"
    simulation = {
        "duration": "5s", "name": name, "brokers": [name], "topics": [{"name": f"t{name}", "read_queue_nums": 2}],
        "groups": [{"name": f"g{name}", "topics": [f"t{name}"], "clients": [f"c{name}", f"d{name}"]}],
        "events": [{"at": "2s", "crash": {"clients": [f"c{name}"]}}],
    }  # fmt: skip
    scenarios = {
        "scenarios": [
            {
                "name": f"{name}{i}",
                "changes": [{"scale_clients": {"to": i, "name": f"p{name}{{n}}"}}],
            }
            for i in (3, 5)
        ]
    }
    for file, data in (("s.json", snapshot), ("m.json", simulation), ("w.json", scenarios)):
        (folder / file).write_text(json.dumps(data))
    (folder / "clients").write_text(
        f"c1{name.replace(chr(10), '')}\nc2\nc2\n", newline="", encoding="utf-8"
    )
    units = [
        {
            "consumer_group": f"g{name}",
            "topic": "t",
            "brokers": [{"broker_name": name, "read_queue_nums": 3}],
            "client_ids": [name],
        }
    ]
    pq.write_table(
        pa.Table.from_pylist([*units, {**units[0], "strategy": f"S{name}"}]), folder / "u.parquet"
    )


FILE = ["-f", "s.json", "--allow-partial", "--require", "any"]
FOR_PEOPLE = [
    ["plan", *FILE, "--scale", "3", "--max-moved", "0"],
    ["plan", *FILE, "--scenario", "w.json", "--out", "p.json", "--max-unowned", "1"],
    ["plan", *FILE, "--scale", "3", "--show", "queues", "-o", "wide"],
    ["plan", *FILE, "--scale", "3", "--show", "clients", "-o", "md"],
    ["plan", "-f", "s.json", "--remove-client", "nobody{}"],
    ["plan", *FILE, "-g", "none{}", "--scale", "3"],
    ["compare", *FILE], ["compare", *FILE, "--to-strategy", "AVG{}"],
    ["explain", *FILE, "-g", "g{}", "-t", "orders{}", "--queue", "b-1{}:0"],
    ["explain", *FILE, "-g", "g{}", "-t", "x", "--queue", "b-1{}:x"],
    ["diff", "s.json", "example:seed", "--require", "any"], ["diff", "s.json", "p.json"], ["diff", "missing{}", "s.json"],
    ["check", "-f", "s.json"], ["check", "-f", "s.json", "-o", "wide"], ["check", "-f", "s.json", "--rule", "{}"],
    ["rollout", "restart", *FILE], ["rollout", "restart", *FILE, "--max-unowned", "0", "--show", "queues"],
    ["rollout", "broker", *FILE, "--broker", "b-1{}"], ["rollout", "queues", *FILE, "-t", "orders{}", "--set-queues", "1"],
    ["rollout", "restart", *FILE, "--best", "--max-unowned", "0"],
    ["recommend", *FILE], ["recommend", *FILE, "--show", "lists", "--out", "l{}.json"],
    ["convert", "s.json", "--out", "o.csv"], ["convert", "s.json", "--out", "o.{}"], ["convert", "missing{}", "--out", "o.csv"],
    ["report", "p.json", "--out", "r{}.html"], ["report", "p{}.json", "--out", "r.html"],
    ["report", "s.json", "--out", "r.html"],
    ["simulate", "m.json"], ["simulate", "missing{}"],
    ["allocate", "-t", "t{}", "--queues", "b{}:3", "--clients", "@clients", "-c", "{}"],
    ["allocate", "-t", "t", "--queues", "b{}", "--clients", "c"],
    ["bulk", "-f", "u.parquet", "--out", "bulk{}", "--scenario", "w.json"], ["bulk", "-f", "none{}", "--out", "o"],
    ["generate", "--units", "3", "--files", "1", "--out", "fleet{}"],
    ["example"], ["example", "{}"], ["example", "seed"], ["check", "-f", "example:{}"],
    ["plan", "--{}"], ["{}"], ["plan", *FILE, "--scale", "{}"],
]  # fmt: skip
FOR_PROGRAMS = [
    *(
        ["plan", *FILE, "--scale", "3", "-o", form]
        for form in ("json", "jsonl", "yaml", "csv", "html")
    ),
    *(["check", "-f", "s.json", "-o", form] for form in ("json", "sarif", "csv")),
    *(["convert", "s.json", "--out", "-", "-o", form] for form in ("json", "yaml", "csv")),
    ["allocate", "-t", "t{}", "--queues", "b{}:3", "--clients", "@clients", "-o", "csv"],
    ["report", "p.json", "--out", "-"],
]


def invisible(text):
    return sorted({c for c in text if not (c.isprintable() or c == "\n")})


class Terminal(io.TextIOWrapper):
    """What takes everything and says that it is a terminal."""

    def __init__(self):
        super().__init__(
            io.BytesIO(), "utf-8", errors="surrogatepass", newline="\n", write_through=True
        )

    def isatty(self):
        return True

    def text(self):
        return self.buffer.getvalue().decode("utf-8", "surrogatepass")


def named(command, name):
    """The command with the name in it; no file name has a slash, and no argument a null."""
    return [one.replace("{}", name) for one in command]


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_whatever_things_are_called_people_see_only_text_in_lines_of_ours(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    hostile_files(tmp_path, name)
    for command in FOR_PEOPLE:
        code = main(named(command, name))
        out, err = capsys.readouterr()
        assert out + err or command[0] == "report", command
        assert code != exit_codes.DEFECT, (command, err)
        assert invisible(out + err) == [], command
        assert not any(line.startswith(FORGED) for line in (out + err).split("\n")), command


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", HOSTILE[:5], ids=ascii)
def test_a_terminal_is_told_nothing_by_results_for_programs_either(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    hostile_files(tmp_path, name)
    assert main(["plan", *FILE, "--scenario", "w.json", "--out", "p.json"]) in (0, 1)
    for command in FOR_PROGRAMS:
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            patch.setenv("NO_COLOR", "1")
            code = main(named(command, name))
        assert code in (0, 1, 2, 4), (command, capsys.readouterr().err)
        assert terminal.text() or "a table cannot hold" in capsys.readouterr().err, command
        assert invisible(terminal.text()) == [], command


def test_results_for_programs_stay_exact_where_no_terminal_gets_them(
    tmp_path, monkeypatch, capfdbinary
):
    monkeypatch.chdir(tmp_path)
    hostile_files(tmp_path, "\x9b\u202e")
    assert main(["convert", "s.json", "--out", "-", "-o", "csv"]) == 0
    assert "orders\x9b\u202e".encode() in capfdbinary.readouterr().out


def test_the_guard_lets_colours_and_progress_through_and_nothing_else(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    guard = sink.Guard(terminal)
    for text in (
        "\x1b[31mred\x1b[0m\n",
        "\r10 %",
        "\r\x1b[K",
        "\x1b[2J\x1b[31;5m\x1b[8m",
        "a\rb\x1b[K\n",
    ):
        guard.write(text)
    guard.buffer.write("\x9b2J\n".encode() + b"\xff")
    assert terminal.text() == (
        "\x1b[31mred\x1b[0m\n\r10 %\r\x1b[K\\x1b[2J\\x1b[31;5m\\x1b[8ma\\rb\\x1b[K\n\\x9b2J\n\\xff"
    )


def test_it_guards_every_stream_for_as_long_as_a_command_runs(monkeypatch):
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with sink.guarded():
        sys.stdout.write("a\x9b\n")
        sys.stderr.write("b\x9b\n")
        sys.stdout.buffer.write(b"c\x07\n")
    assert (sys.stdout, sys.stderr) == (out, err)
    assert (out.text(), err.text()) == ("a\\x9b\nc\\x07\n", "b\\x9b\n")


def test_a_name_that_was_forgotten_is_harmless_where_no_terminal_is_too(capsys):
    sink.say("Group g\x1b[2J\n  \u202e1 queue")
    assert capsys.readouterr().out == "Group g\\x1b[2J\n  \\u202e1 queue\n"


def test_a_message_of_somebody_else_is_one_line_of_bounded_length():
    assert message("a\r\nb\x1b") == "a\\r\\nb\\x1b"
    long = message("x" * 200_000 + "\n" * 5000)
    assert len(long) == MOST_SAID and long.startswith("xxx") and long.endswith("\\n")
    assert harmless("a\n\\x1b\u202e") == "a\n\\x1b\\u202e"


def test_an_encoding_that_lacks_letters_is_no_error(monkeypatch):
    poor = io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", poor)
    sink.say("订单 →")
    sink.hand_over("é")
    assert poor.buffer.getvalue() == b"\\u8ba2\\u5355 \\u2192\n\\xe9\n"


# --- Errors and defects ---


class Boom(Exception):
    pass


@pytest.mark.parametrize(
    "kind",
    [
        *(
            Boom,
            TypeError,
            ValueError,
            KeyError,
            RecursionError,
            OverflowError,
            AttributeError,
            AssertionError,
        ),
        *(StopIteration, pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError),
    ],
)
def test_any_other_exception_is_a_defect_that_says_so(kind, monkeypatch, capsys):
    def broken(*_args, **_kwargs):
        raise kind("a\x1b[2J")

    monkeypatch.setattr(app.app, "main", broken)
    assert main(["plan", "-f", "x"]) == exit_codes.DEFECT == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback (most recent call last):" in err and "raise kind" in err
    last = err.strip().split("\n")[-1]
    assert last.startswith(
        f"rmqalloc: this is a defect of rmqalloc, not of its input: {kind.__name__} in rmqalloc plan, rmqalloc "
    )
    assert "report the traceback" in last and invisible(err) == []


@pytest.mark.parametrize("kind", [click.UsageError, click.ClickException, ArgumentError, OSError])
def test_an_error_that_quotes_what_it_was_given_stays_within_its_line(kind, monkeypatch, capsys):
    def broken(*_args, **_kwargs):
        raise kind(f"a\n{FORGED}\x1b[2J" + "x" * 10_000)

    monkeypatch.setattr(app.app, "main", broken)
    assert main([]) == (exit_codes.USAGE if kind is click.UsageError else exit_codes.FAILURE)
    err = capsys.readouterr().err
    assert f"a\\n{FORGED}\\x1b[2Jxxx" in err and err.count("\n") == 1 and len(err) < MOST_SAID + 20


@pytest.mark.parametrize(
    ("missing", "is_ours"), [("pyarrow.lib", False), ("rmqalloc.nothing", True), (None, False)]
)
def test_a_package_that_is_missing_is_named_unless_it_is_ours(
    missing, is_ours, monkeypatch, capsys
):
    def broken(*_args, **_kwargs):
        raise ImportError("x", name=missing)

    monkeypatch.setattr(app.app, "main", broken)
    assert main([]) == (exit_codes.DEFECT if is_ours else exit_codes.FAILURE)
    assert ("is not installed" in capsys.readouterr().err) != is_ours


# --- Nobody prints in another way ---

SINKS = {"rmqalloc/cli/_sink.py"}
OTHERS = {"spark_udfs/job/_pinned_units.py"}
"""Prints in its own way; what it prints to standard error is guarded all the same."""

ECHOES, STREAMS = (
    {"echo", "secho", "echo_via_pager"},
    {"stdout", "stderr", "__stdout__", "__stderr__"},
)
STREAM_USES = {"isatty", "flush", "fileno"}


def prints(source):
    """Lines of a module that print, or that get hold of a standard stream for more than to ask what
    it is.
    """
    tree = ast.parse(source)
    asked = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in STREAM_USES
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            on = getattr(getattr(node.func, "value", None), "id", "")
            constant = all(isinstance(one, ast.Constant) for one in node.args)
            if (called == "print" and not on and not constant) or (
                on == "click" and called in ("echo", "secho", "echo_via_pager")
            ):
                yield node.lineno
        if (
            isinstance(node, ast.Attribute)
            and node.attr in STREAMS
            and id(node) not in asked
            and _is_sys(node.value)
        ):
            yield node.lineno


def _is_sys(node):
    return getattr(node, "id", "") == "sys"


def test_the_rule_sees_whatever_prints():
    for line in (
        "print(x)",
        "click.echo('x')",
        "sys.stderr.write(x)",
        "f = sys.stdout",
        "print(x, file=sys.stderr)",
    ):
        assert list(prints(line)), line
    for line in ("sys.stdout.isatty()", "print('constant')", "done.stdout", "printing.print(x)"):
        assert not list(prints(line)), line


ALLOWED = {
    "rmqalloc/cli/_guard_command.py": 1,  # asked for its width
    "rmqalloc/cli/_plan_command.py": 1,
    "rmqalloc/cli/_show_command.py": 1,
    "rmqalloc/cli/_check_command.py": 1,  # handed to `write_findings`, which makes every text printable
    "rmqalloc/cli/_table_options.py": 2,  # the same, and handed to `write_table`, which makes every cell printable
}


def test_lines_before_an_error_are_printed(tmp_path, monkeypatch):
    def lines():
        yield "first"
        raise ArgumentError("no second line")

    with (tmp_path / "out").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(ArgumentError):
            sink.say_lines(lines())
        assert (tmp_path / "out").read_text() == "first\n"


def test_nothing_prints_but_through_the_sink():
    found = {}
    for room in ("rmqalloc/cli", "rmqalloc/report", "spark_udfs"):
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name not in SINKS | OTHERS and (
                lines := list(prints(path.read_text(encoding="utf-8")))
            ):
                found[name] = len(lines)
    assert found == ALLOWED


def test_a_guard_of_a_stream_that_was_closed_has_nothing_to_flush():
    stream = io.TextIOWrapper(io.BytesIO())
    guard = sink.Guard(stream)
    stream.close()
    guard.flush()
    assert not guard.closed
