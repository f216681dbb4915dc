"""Every block of every page runs, and prints what the page shows; options that help shows exist."""

import os
import re
import shlex
import subprocess

import click
import pytest
from checkout import ROOT
from cli_commands import COMMANDS
from page_blocks import PAGES, blocks_of, commands_of, needs_spark, run_page
from page_environments import extras_of, python_of

from rmqalloc.cli._app import app
from rmqalloc.cli._verbs import VERBS


def name_of(page):
    return str(page.relative_to(ROOT))


def pages():
    for page in PAGES:
        marks = [pytest.mark.spark] if needs_spark(page.read_text(encoding="utf-8")) else []
        yield pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", list(pages()))
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, tmp_path):
    wrong, _ = run_page(page, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_with_blocks_names_its_extras(page):
    text = page.read_text(encoding="utf-8")
    runs = [block for block in blocks_of(text) if block.needs != "a package index"]
    assert not runs or extras_of(text) is not None


@pytest.mark.skipif(
    not os.environ.get("RMQALLOC_WHEEL_OF"), reason="a checkout in place has no wheel to install"
)
def test_an_environment_holds_what_its_extras_bring_and_no_more():
    python = python_of(["yaml"])
    tries = "import rmqalloc, yaml; print(rmqalloc.__version__)"
    assert subprocess.run([python, "-c", tries], check=True, capture_output=True).stdout
    done = subprocess.run([python, "-m", "rmqalloc", "doctor"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("rmqalloc: click is not installed: install rmqalloc with the")


def test_the_blocks_of_a_page_are_all_found():
    """None is hidden by its form: as many begin as there are fences."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = [line for line in text.splitlines() if line.lstrip().startswith("```")]
        assert len(fences) == 2 * len(list(blocks_of(text))), name_of(page)


@pytest.mark.parametrize(("block", "reported"), [
    pytest.param("```console\n$ rmqalloc allocate -t T --queues a:1 --clients x\nnothing of the kind\n```\n",
                 "prints", id="console"),
    ("```bash\nrmqalloc plan -f missing.yaml --scale 3\n```\n", "ends with 1"),
    ("```python\n>>> 1 + 1\n3\n\n```\n", "Got:"),
])  # fmt: skip
def test_a_wrong_block_is_seen(block, reported, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(block)
    (wrong,), _ = run_page(page, tmp_path)
    assert reported in wrong


# --- Options of commands that are only shown ---


def shown():
    """Commands of blocks that are not run, of sentences, and of help texts."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for block in blocks_of(text):
            if block.needs and block.language == "bash":
                yield from commands_of(block.text)
        yield from (
            command for command in re.findall(r"`(rmqalloc [^`]+)`", text) if " -" in command
        )
    for command in COMMANDS.values():
        text = (command.help or "").replace("\\\n", " ")
        yield from re.findall(r"^\s*(?:\w+:\s+)?(rmqalloc .*)", text, re.MULTILINE)


def check_options(command):
    """Raise unless rmqalloc knows the verb and all options of a command."""
    words = shlex.split(command, comments=True)
    ends = [i for i, word in enumerate(words) if word in ("|", ">", "&&", ";", "<")]
    words = words[1 : ends[0] if ends else None]
    group, context = app, click.Context(app, info_name="rmqalloc", **app.context_settings)
    while words and isinstance(group, click.Group) and not words[0].startswith("-"):
        group = group.get_command(context, words[0])
        assert group is not None, command
        context, words = click.Context(group, info_name=words[0], parent=context), words[1:]
    if not isinstance(group, click.Group):
        group.make_parser(context).parse_args(list(words))


def test_rmqalloc_knows_the_options_that_are_shown():
    commands = [command for command in shown() if command.split()[1:2] and "..." not in command]
    known = [command for command in commands if command.split()[1] in VERBS]
    assert len(known) > 40
    for command in known:
        check_options(command)
    with pytest.raises(click.NoSuchOption):
        check_options("rmqalloc plan -f example:seed --scal 3")
