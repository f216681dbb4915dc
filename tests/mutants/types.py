"""Mutants of the words that Spark's users are told."""

from mutants.mutant import Mutant

_WORDS = "tests/test_spark_words.py"
_COLUMNS = "spark_udfs/columns.py"
_PLANNING = "spark_udfs/planning.py"
_BULK = "rmqalloc/whatif/bulk.py"

MUTANTS = [
    Mutant(_COLUMNS, "if len(same) == len(by_row) and", "if False and", "a typo in SQL is null in all rows", _WORDS),
    Mutant(
        _COLUMNS, "if len(same) == len(by_row) and", "if", "a row's own virtual nodes are taken for a literal", _WORDS
    ),
    Mutant(_COLUMNS, " and strategy[0].is_valid:", ":", "a null strategy fails the query", _WORDS),
    Mutant(
        _COLUMNS,
        "if virtual_nodes <= MAX_VIRTUAL_NODES:",
        "if virtual_nodes < MAX_VIRTUAL_NODES:",
        "the bound itself is refused",
        _WORDS,
    ),
    Mutant(
        _BULK,
        "others = [name for name in names if name not in INPUT_COLUMNS]",
        "others = []",
        "no column is suggested",
        _WORDS,
    ),
    Mutant(
        _BULK,
        "it has {', '.join(names) or 'none'}",
        "it has {', '.join(set(names) & set(INPUT_COLUMNS))}",
        "the real name is hidden",
        _WORDS,
    ),
    Mutant(
        "rmqalloc/fleet/arrow.py",
        'if not compact and _has(table, "brokers"):',
        "if False:",
        "brokers beside queues are ignored",
        _WORDS,
    ),
    Mutant(_PLANNING, '"" if "[" in line else', '"" if line else', "Java's class is left out", _WORDS),
    Mutant(_PLANNING, "[:1] + unfit\n", "[:1]\n", "NoClassDefFoundError is lost behind its cause", _WORDS),
]
