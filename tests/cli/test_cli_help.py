"""Help by task: every option and verb stands in one section, and nothing is cut."""

import re

import click
import pytest
from checkout import ROOT
from cli_commands import COMMANDS

from rmqalloc import __version__
from rmqalloc.cli import main
from rmqalloc.cli._help_sections import OTHERS, SECTIONS, first_sentence, section_of
from rmqalloc.cli._verbs import QUESTIONS, VERBS


@pytest.fixture
def helped(capsys, monkeypatch):
    """Return what a command prints, in a terminal of a width."""

    def run(*arguments, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        code = main(list(arguments))
        return code, capsys.readouterr().out

    return run


def test_every_verb_answers_one_question():
    listed = [name for names in QUESTIONS.values() for name in names]
    assert sorted(listed) == sorted(VERBS)


def test_every_file_of_a_verb_is_registered():
    files = (ROOT / "rmqalloc/cli").glob("_*_command.py")
    assert {path.stem[1:].removesuffix("_command") for path in files} == VERBS.keys()


def test_a_name_stands_in_one_section():
    names = [name for section in SECTIONS.values() for name in section.split()]
    assert len(names) == len(set(names))
    flags = {
        flag.lstrip("-")
        for one in COMMANDS.values()
        for option in one.params
        for flag in option.opts
    }
    assert set(names) - flags == {"help"}, "of no verb"


def listed(text):
    """Return the section of each flag that a help lists; one that it lists twice is an error."""
    section, found = "", {}
    for line in text.splitlines():
        if line[:-1] in SECTIONS and line.endswith(":"):
            section = line[:-1]
        elif line.startswith("  -"):
            flags = re.findall("(?<![a-z])--[a-z0-9-]+", re.split(r" {2,}", line.strip())[0])
            assert not found.keys() & set(flags)
            found |= dict.fromkeys(flags, section)
    return found


@pytest.mark.parametrize(
    "words",
    [words for words, one in COMMANDS.items() if not isinstance(one, click.Group)],
    ids=" ".join,
)
def test_every_option_is_in_the_help_below_its_section(words, helped):
    code, out = helped(*words, "--help", columns=200)
    assert code == 0 and helped("help", *words, columns=200) == (0, out)
    found = listed(out)
    options = [
        one for one in COMMANDS[words].params if isinstance(one, click.Option) and not one.hidden
    ]
    wanted = {
        flag: section_of(one)
        for one in options
        for flag in one.opts + one.secondary_opts
        if flag[:2] == "--"
    }
    assert found == wanted | {"--help": "Output"}
    assert list(dict.fromkeys(found.values())) == [one for one in SECTIONS if one in found.values()]


@pytest.mark.parametrize("columns", [80, 200])
def test_first_sentences_are_whole(columns, helped):
    out = " ".join(helped("--help", columns=columns)[1].split())
    for words, command in COMMANDS.items():
        if len(words) == 1:
            assert first_sentence(command) in out
    assert "..." not in out.replace("ARGS]...", "")
    assert first_sentence(COMMANDS["rollout", "broker"]) in " ".join(
        helped("rollout", "--help")[1].split()
    )


def test_help_of_what_is_not_there_names_what_is_near(capsys):
    assert main(["help", "rollout", "restrat"]) == 64
    assert "there is no rmqalloc rollout restrat; did you mean restart?" in capsys.readouterr().err
    assert main(["help", "plan", "more"]) == 64


def test_help_without_a_verb_is_that_of_all(helped):
    assert helped("help") == helped("--help")


def test_the_version_has_a_short_option(helped):
    assert helped("-V") == helped("--version") == (0, f"rmqalloc {__version__}\n")


def test_others_are_no_section_of_names():
    assert SECTIONS[OTHERS] == "" and section_of(click.Option(["--never-heard-of"])) == OTHERS
