"""Manual pages: one for every verb and kind, with all that its help has, in roff that groff reads
without a warning.
"""

import re
import subprocess

import click
import pytest
import tools
from cli_commands import COMMANDS

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._app import run
from rmqalloc.cli._help_sections import in_sections

UNESCAPED = {
    r"\(rs": "\\",
    r"\-": "-",
    r"\(aq": "'",
    r"\(ga": "`",
    r"\(ha": "^",
    r"\(ti": "~",
    r"\:": "",
    r"\&": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All pages, written by the verb."""
    folder = tmp_path_factory.mktemp("share") / "man1"
    assert run(["help", "--man", str(folder)]) == 0
    return folder


def read(folder, words=()):
    """A page's text, without escapes."""
    text = (folder / f"{'-'.join(['rmqalloc', *words])}.1").read_text(encoding="ascii")
    return re.sub(r"\\(?:\(\w\w|[-:&])", lambda found: UNESCAPED[found[0]], text)


def test_every_command_has_a_page_and_no_other_has(folder):
    names = {"-".join(["rmqalloc", *words]) for words in COMMANDS} | {"rmqalloc"}
    assert {path.name for path in folder.iterdir()} == {f"{name}.1" for name in names}


@pytest.mark.parametrize("words", COMMANDS, ids="-".join)
def test_a_page_has_the_sections_options_and_exit_codes_of_the_help(folder, words):
    command, text = COMMANDS[words], read(folder, words)
    context = click.Context(command, info_name=words[-1], help_option_names=["-h", "--help"])
    codes = exit_codes.codes_of(words[0])
    n_terms = len(codes) + len(getattr(command, "commands", ()))
    for section, options in in_sections(command.get_params(context)):
        records = [record for one in options if (record := one.get_help_record(context))]
        title = "OPTIONS" if isinstance(command, click.Group) else section.upper()
        assert not records or f'.SH "{title}"\n' in text
        n_terms += len(records)
        for term, meaning in records:
            assert f".TP\n\\fB{term}\\fR\n{' '.join(meaning.split())}\n" in text
    for code, meaning in codes.items():
        assert f".TP\n\\fB{code}\\fR\n{meaning}\n" in text
    assert text.count(".TP\n") == n_terms


def test_pages_of_groups_name_what_is_below(folder):
    assert "\\fBplan\\fR\n" in read(folder) and '.SH "WHAT IF?"' in read(folder)
    assert "\\fBrestart\\fR\n" in read(folder, ("rollout",))


def test_examples_keep_their_lines(folder):
    first, second = (
        "rmqalloc check -f snapshot.yaml -g 'order-*' -o sarif",
        "rmqalloc check -n 10.0.0.1:9876 --settle 20s --plan plan.json",
    )
    assert f".nf\n{first}\n{second}\n.fi\n" in read(folder, ("check",))


def test_one_verb_alone(tmp_path):
    assert run(["help", "rollout", "restart", "--man", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["rmqalloc-rollout-restart.1"]


@pytest.mark.needs("groff")
def test_groff_shows_all_pages_without_a_warning_and_keeps_the_lines_of_examples(folder):
    paths = sorted(map(str, folder.iterdir()))
    command = [tools.program("groff"), "-man", "-ww", "-Tutf8", "-P-c", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "rmqalloc check -f snapshot.yaml -g 'order-*' -o sarif" in map(
        str.strip, done.stdout.splitlines()
    )
