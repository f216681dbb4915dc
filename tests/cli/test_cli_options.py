"""The table of options: for each idea one flag with one meaning, in all verbs and on the page."""

from collections import defaultdict

import click
import pytest
from cli_commands import COMMANDS
from option_tables import PAGE, verbs_of, with_tables

from rmqalloc.cli._options import SHARED

TABLE = [shared for options in SHARED.values() for shared in options]
OF_ALL = {"--help", "--schema"}


def options_of_verbs():
    """Every option by its long flag, each with the words of its command."""
    found = defaultdict(list)
    for words, command in COMMANDS.items():
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                found[max(option.opts, key=len)].append((words, option))
    return found


OPTIONS = options_of_verbs()


def test_an_option_of_two_verbs_stands_in_the_table():
    shared = {flag for flag, found in OPTIONS.items() if len({words[0] for words, _ in found}) > 1}
    assert shared - OF_ALL == {one.flags.split()[-1] for one in TABLE}


@pytest.mark.parametrize("shared", TABLE, ids=lambda shared: shared.flags.split()[-1])
def test_it_is_the_same_in_every_verb(shared):
    found = OPTIONS[shared.flags.split()[-1]]
    assert found
    for words, option in found:
        assert sorted(option.opts) == sorted(shared.flags.split()), words
        assert option.help.startswith(shared.means), words
        assert option.is_flag == (shared.metavar is None), words


def test_a_short_flag_has_one_meaning():
    longs = defaultdict(set)
    for flag, found in OPTIONS.items():
        for _, option in found:
            for short in option.opts:
                if not short.startswith("--"):
                    longs[short].add(flag)
    assert {short: flags for short, flags in longs.items() if len(flags) > 1} == {}


def test_there_are_few_options():
    """People learn about twenty; every other one must be worth its place."""
    counted = {flag: len(found) for flag, found in OPTIONS.items() if flag not in OF_ALL}
    of_plan = [flag for flag in counted if ("plan",) in dict(OPTIONS[flag])]
    assert sum(counted.values()) <= 450
    assert len(counted) <= 110
    assert len(of_plan) <= 36


def test_the_page_has_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page
    assert verbs_of(TABLE[0]) > ["bulk", "check"]
