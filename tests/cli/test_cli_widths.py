"""Text fits: every verb in an emulated terminal of 80, 120 and 200 columns, and in a pipe.

A terminal breaks a line that is too long wherever it ends; then the cursor is further down than
there are line breaks. pyte is such a terminal.
"""

import fcntl
import json
import os
import re
import struct
import termios
import threading
from contextlib import redirect_stderr, redirect_stdout

import pyte
import pytest
import yaml
from checkout import ROOT

from rmqalloc.cli import main
from rmqalloc.results.wrapping import width_of

WIDTHS = (80, 120, 200)
SEED = ROOT / "examples" / "snapshots" / "seed.yaml"
COLOURED = re.compile(r"([-+~!] |\w.*  \w+  \w)")
"""A row may have a colour if a mark or the header of a table says the same."""

LONG_FIGURE = re.compile(r"(?<![\d.])\d+\.\d{3,}(?![\d.])")

VERBS = [
    "plan -f example:seed --scale 6",
    "rollout restart -f example:48-pods --batch 25%",
    "rollout restart -f {many} --batch 2",
    "rollout restart -f example:48-pods -g by-average --best --max-batch 3",
    pytest.param(
        "rollout restart -f example:48-pods -g by-average --best --max-batch 2 --max-unowned 1",
        id="rollout restart --best, no way keeps the gate",
    ),
    pytest.param(
        "rollout strategy -f example:seed -g by-average --to-strategy CONSISTENT_HASH_BOUNDED --batch 2",
        id="rollout strategy",
    ),
    "rollout subscription -f example:orders -t payments",
    "rollout queues -f example:orders -g order-svc -t orders --set-queues 4",
    "rollout broker -f example:seed --broker broker-a",
    "recommend -f example:orders",
    "recommend -f example:48-pods -g by-ring",
    "compare -f example:seed",
    "diff example:seed {after}",
    "diff {many} {fewer}",
    "simulate example:three-deaths",
    "explain -f example:seed -g by-ring -t TopicTest --queue broker-b:3",
    "show -f example:orders",
    "show -f {many} --by client",
    "show -f {many} --by host",
    "groups -f {many}",
    "groups -f example:live",
    "check -f example:duplicate-id",
    "check -f example:orders",
    "verify {plan} -f example:seed",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files that the command lines name."""
    directory, data = tmp_path_factory.mktemp("widths"), yaml.safe_load(SEED.read_text("utf-8"))

    def saved(name, *groups):
        path = directory / f"{name}.yaml"
        path.write_text(yaml.safe_dump(data | {"groups": list(groups)}), "utf-8")
        return str(path)

    def without(group, n):
        return group | {"clients": group["clients"][: len(group["clients"]) - n]}

    first = data["groups"][0]
    many = [first | {"name": f"group-{i:02}"} for i in range(6)]
    renamed = [
        one | {"client_id": f"{i}-{'long-' * 40}客户端{'订单' * 30}"}
        for i, one in enumerate(first["clients"])
    ]
    made = {
        "after": saved("after", *(without(group, 1) for group in data["groups"])),
        "many": saved("many", *many),
        "fewer": saved("fewer", *(without(group, 1 + i % 2) for i, group in enumerate(many))),
        "long": saved("long", first | {"name": f"{'name-' * 30}订单", "clients": renamed}),
        "fewer-long": saved(
            "fewer-long", without(first | {"name": f"{'name-' * 30}订单", "clients": renamed}, 1)
        ),
        "plan": str(directory / "plan.json"),
    }
    assert main(["plan", "-f", "example:seed", "--scale", "6", "--out", made["plan"]]) == 0
    return made


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def shown(command, files, width):
    """Run a command in a terminal; gives the screen, and how many lines were written to it."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    read = []

    def drain():
        while chunk := _read(master):
            read.append(chunk)

    reader = threading.Thread(target=drain)
    reader.start()
    with (
        open(slave, "w", encoding="utf-8") as terminal,
        redirect_stdout(terminal),
        redirect_stderr(terminal),
    ):
        main(command.format(**files).split())
    reader.join()
    os.close(master)
    raw = b"".join(read).decode()
    screen = pyte.Screen(width, raw.count("\n") + 20)
    pyte.Stream(screen).feed(raw)
    return screen, raw.count("\n")


def _read(master):
    try:
        return os.read(master, 65536)
    except OSError:  # the other end is closed
        return b""


def words_of(lines):
    """Return the words of some lines, those that a command is continued by without the backslash."""
    return " ".join(" ".join(line.rstrip().removesuffix(" \\") for line in lines).split())


def coloured_rows(screen):
    """Yield rows that have a colour, and how their text is shown without it."""
    for y, line in enumerate(screen.display):
        colours = {screen.buffer[y][x].fg for x in range(screen.columns)} - {"default"}
        if colours:
            yield line.rstrip(), colours


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", VERBS)
def test_a_terminal_breaks_no_line(command, width, files):
    screen, n_lines = shown(command, files, width)
    assert screen.cursor.y == n_lines > 1, "\n".join(screen.display[:n_lines])
    text = "\n".join(line.rstrip() for line in screen.display)
    assert not LONG_FIGURE.search(text), LONG_FIGURE.search(text)
    for row, _ in coloured_rows(screen):
        assert COLOURED.match(row), row


@pytest.mark.parametrize("command", ["plan -f {long} --scale 2", "rollout restart -f {long}", "recommend -f {long}",
                                     "compare -f {long}", "diff {long} {fewer-long}", "check -f {long}"])  # fmt: skip
def test_names_of_any_length_and_script_fit(command, files):
    screen, n_lines = shown(command, files, 80)
    assert screen.cursor.y == n_lines > 2, "\n".join(screen.display[:n_lines])


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("width", [60, *WIDTHS])
def test_what_says_what_to_do_is_whole(width, files, capsys):
    """Advice, reasons, gates and commands are there word by word."""

    def has(command, *texts):
        seen = words_of(shown(command, files, width)[0].display)
        for text in texts:
            assert words_of([text]) in seen

    for name in ("orders", "duplicate-id"):
        main(["check", "-f", f"example:{name}", "-o", "json"])
        found = json.loads(capsys.readouterr().out)["findings"]
        assert found
        has(
            f"check -f example:{name}",
            *(one[key] for one in found for key in ("message", "advice")),
        )
    main(["recommend", "-f", "example:48-pods", "-g", "by-ring", "-o", "json"])
    for advice in [one["advice"] for one in json.loads(capsys.readouterr().out)]:
        seen = words_of(shown("recommend -f example:48-pods -g by-ring", files, width)[0].display)
        assert advice in seen.replace(" - ", " ")
    refused = "'order-svc' has 1,952 unconsumed messages in 5 queues of topic 'orders': broker-a:4, broker-a:5"
    has("rollout queues -f example:orders -g order-svc -t orders --set-queues 4", refused)
    has(
        "rollout subscription -f example:orders -t payments",
        "Skipped: consumer group 'ledger' subscribes already to topic",
    )
    has(
        "plan -f example:seed --scale 6",
        "at the worst moment: unowned 10 (8.1 expected, 1 s at most)",
    )


def test_severities_have_a_colour_and_a_mark_that_says_the_same(files, monkeypatch):
    rows = dict(coloured_rows(shown("check -f example:duplicate-id", files, 80)[0]))
    assert set(map(str, rows.values())) == {"{'red'}"} and all(
        row.startswith("! error  ") for row in rows
    )
    assert dict(coloured_rows(shown("check -f example:orders", files, 80)[0])).popitem()[1] == {
        "brown"
    }  # yellow
    monkeypatch.setenv("NO_COLOR", "1")
    screen, _ = shown("check -f example:duplicate-id", files, 80)
    assert not list(coloured_rows(screen))
    assert sum(line.startswith("! error  ") for line in screen.display) == 3


def test_a_pipe_gets_colour_where_it_is_asked_for_alone(capsys, monkeypatch):
    main(["check", "-f", "example:duplicate-id"])
    plain = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["check", "-f", "example:duplicate-id"])
    coloured = capsys.readouterr().out
    assert "\x1b" not in plain and coloured.count("\x1b[31m") == 3
    assert re.sub("\x1b\\[\\d+m", "", coloured) == plain


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("command", VERBS)
def test_a_line_in_a_pipe_has_a_hundred_places(command, files, capsys):
    main(command.format(**files).split())
    lines = capsys.readouterr().out.splitlines()
    long = [line for line in lines if width_of(line) > 100]
    assert lines and all(len(line.split()) == 1 for line in long), "\n".join(long)


def test_the_variable_columns_comes_first(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    main(["recommend", "-f", "example:orders"])
    assert 50 < max(map(width_of, capsys.readouterr().out.splitlines())) <= 60
    screen, _ = shown("recommend -f example:orders", files, 200)
    assert 50 < max(len(line.rstrip()) for line in screen.display) <= 60
