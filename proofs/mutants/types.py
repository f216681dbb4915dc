"""Mutants of the words that Spark's users are told."""

from mutants.mutant import Mutant

_WORDS = "tests/spark/test_spark_words.py"
_SQL = "tests/spark/test_spark_sql.py"
_TYPING = "tests/house/test_typing.py -k public"
_DESCRIBED = "spark_udfs/_sql.py"
_COLUMNS = "spark_udfs/_arrow_owners.py"
_STRATEGIES = "rmqalloc/evaluation/row_strategies.py"
_ERRORS = "spark_udfs/job/_spark_errors.py"
_BULK = "rmqalloc/evaluation/unit_files.py"

MUTANTS = [
    Mutant(_COLUMNS, "if strict and (wrong", "if False and (wrong", "a typo in SQL is null in all rows", _WORDS),
    Mutant(_COLUMNS, 'DEFAULT = "AVG"', 'DEFAULT = "AVG_BY_CIRCLE"', "a null strategy is another one", _WORDS),
    Mutant(_STRATEGIES, "<= MAX_VIRTUAL_NODES:", "< MAX_VIRTUAL_NODES:", "the bound itself", _WORDS),
    Mutant(
        _COLUMNS,
        "if by_numbers and made.formula is None:",
        "if False:",
        "a ring of numbers fails the whole job",
        _WORDS,
    ),
    Mutant(
        "spark_udfs/_closed_form.py", "WHEN strategy NOT IN ({names})", "WHEN strategy IN ('')", "a typo by count", _SQL
    ),
    Mutant(
        _DESCRIBED, "examples = function.texts()", "examples = ('N/A.', '', '')", "DESCRIBE FUNCTION says N/A", _SQL
    ),
    Mutant(_DESCRIBED, '("", "system.session")', '("",)', "no function of Spark 4.3 is found", _SQL),
    Mutant(_DESCRIBED, "    except Exception:", "    except LookupError:", "another release breaks register_all", _SQL),
    Mutant(
        _DESCRIBED,
        "    registry.registerFunction(identifier, info, builder)  #",
        "    #",
        "a function is dropped that cannot be registered",
        _SQL,
    ),
    Mutant(
        "rmqalloc/strategies/_machine_room.py",
        "import ExclusiveStrategy, Owners",
        "import Owners, Strategy as ExclusiveStrategy",
        "what MACHINE_ROOM gives is of any type",
        _TYPING,
    ),
    Mutant(
        "rmqalloc/strategies/_pop.py",
        ") -> list[Queue | Listed | MessageQueue]: ...",
        ") -> list[Queue | MessageQueue]: ...",
        "queues of CONFIG's list under POP are taken for the caller's",
        _TYPING,
    ),
    Mutant(
        "rmqalloc/strategies/__init__.py", ") -> object: ...", ") -> Strategy: ...", "wrong parameters pass", _TYPING
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
    Mutant(_ERRORS, '"" if "[" in line else', '"" if line else', "Java's class is left out", _WORDS),
    Mutant(_ERRORS, "[:1] + unfit\n", "[:1]\n", "NoClassDefFoundError is lost behind its cause", _WORDS),
    Mutant(_ERRORS, ": )*{_NAMED}", ": ){{0}}{_NAMED}", "what wraps a missing class is named instead", _WORDS),
]
