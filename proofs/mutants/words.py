"""Mutants of the command line's words: extras, examples, options, exit codes, suggestions."""

from mutants.mutant import Mutant

_EXTRAS = "rmqalloc/extras.py"
_EXAMPLES = "rmqalloc/examples/__init__.py"
_CHOICES = "rmqalloc/cli/_choices.py"
_RENAMED = "rmqalloc/cli/_renamed.py"
_CODES = "rmqalloc/cli/_exit_codes.py"
_TEXT = "rmqalloc/text.py"
_GROUPS = "rmqalloc/cli/_command_groups.py"
_WORDS = "tests/cli/test_cli_words.py"

MUTANTS = [
    Mutant(
        _EXTRAS,
        "yaml         PyYAML                    yaml",
        "yaml         PyYAML                    cli",
        "a hint for YAML brings more than YAML",
        "tests/house/test_extras.py -k none_smaller",
    ),
    Mutant(
        _EXTRAS,
        'if word in _BY_DISTRIBUTION), "")',
        'if word in EXTRAS), "")',
        "a library that names a distribution instead of a module gets no hint",
        "tests/house/test_extras.py -k connect",
    ),
    Mutant(
        _EXAMPLES,
        "    if name in known:\n",
        "    if name in EXAMPLES:\n",
        "a script of a simulation is taken for a snapshot",
        "tests/cli/test_examples.py -k lists_those",
    ),
    Mutant(
        _CHOICES,
        "if isinstance(value, str) and value.startswith(PREFIX):",
        "if isinstance(value, str) and PREFIX in value:",
        "a file of such a name cannot be reached by its path",
        "tests/cli/test_examples.py -k reached_by_its_path",
    ),
    Mutant(
        _RENAMED,
        "                if others[into] is not None:\n",
        "                if others[into] == former:\n",
        "a former name wins over the one of today without a word",
        f"{_WORDS} -k report_takes_out",
    ),
    Mutant(
        _RENAMED,
        "                tell(",
        "                str.format(",
        "a former name is taken without a word",
        f"{_WORDS} -k former_names_still",
    ),
    Mutant(
        _CODES,
        "if code in _OF_ALL or code in own}",
        "if code in _OF_ALL}",
        "help leaves out the codes that only some verbs end with",
        f"{_WORDS} -k ends_with_a_code",
    ),
    Mutant(
        _TEXT,
        '    return f"; did you mean {printable(near[0])}?" if near else ""',
        '    return f"; did you mean {near[0]}?" if near else ""',
        "a hostile name is suggested as it is",
        f"{_WORDS} -k hostile",
    ),
    Mutant(
        _TEXT,
        "    for name in islice(names, _MOST_COMPARED):",
        "    for name in names:",
        "a wrong name is compared with a million others",
        f"{_WORDS} -k bounded",
    ),
    Mutant(
        _GROUPS,
        "if meant else did_you_mean(name, known)",
        'if meant else ""',
        "a verb with a typing error gets no suggestion",
        f"{_WORDS} -k meant",
    ),
]
