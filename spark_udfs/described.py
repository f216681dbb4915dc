"""What ``DESCRIBE FUNCTION`` says of functions that run in Python workers.

PySpark registers such a function without a word about it. Spark's registry takes a description with a function, but only its
JVM side can be asked, by names that are not part of PySpark. So a session where that fails, as those of Spark Connect, keeps
its functions as they are, and says ``N/A``.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from pyspark.sql import SparkSession


class Description(NamedTuple):
    """What one function is.

    Attributes
    ----------
    usage : str
        Arguments in brackets, and what is returned, as ``(a [, b]) - What it returns.``
    arguments : mapping of str to str
        What each argument is.
    example, answer : str
        A call without the function's name, and what it returns.
    """

    usage: str
    arguments: Mapping[str, str]
    example: str
    answer: str

    def texts(self) -> tuple[str, str, str]:
        """Usage, arguments and examples, laid out as Spark does with its own; Spark puts the name for ``_FUNC_``.

        Examples
        --------
        >>> Description("(a) - Same.", {"a": "any"}, "(1)", "1").texts()[1:]
        ('\\n    Arguments:\\n      * a - any\\n  ', '\\n    Examples:\\n      > SELECT _FUNC_(1);\\n       1\\n  ')
        """
        arguments = "".join(f"      * {name} - {what}\n" for name, what in self.arguments.items())
        examples = f"      > SELECT _FUNC_{self.example};\n       {self.answer}\n"
        return f"_FUNC_{self.usage}", f"\n    Arguments:\n{arguments}  ", f"\n    Examples:\n{examples}  "


def describe(spark: SparkSession, descriptions: Mapping[str, Description], new: bool = False) -> bool:
    """Add descriptions to temporary functions of a session.

    Parameters
    ----------
    spark : SparkSession
        One in which the functions are registered.
    descriptions : mapping of str to Description
        By the functions' names.
    new : bool
        Nobody has called the functions yet, so each may be away for a moment. Spark then has nothing to warn of; otherwise it
        logs that they are replaced.

    Returns
    -------
    bool
        Whether Spark took them. The functions work in either case.
    """
    try:
        registry = spark._jsparkSession.sessionState().functionRegistry()
        for name, identifier in _identifiers(registry, descriptions).items():
            _describe(spark._jvm, registry, identifier, descriptions[name], new)
    except Exception:  # whatever another release of Spark's raises: no description is worth a function
        return False
    return True


def _identifiers(registry: Any, names: Collection[str]) -> dict[str, Any]:
    """What the registry calls each function: by its name alone, or from Spark 4.3 on with ``system.session.`` before it."""
    listed = registry.listFunction()
    found = {}
    # One text of all, as there are hundreds and each call takes its way to the JVM.
    for position, text in enumerate(listed.mkString("\n").split("\n")):
        qualifiers, _, last = text.rpartition(".")
        name = next((one for one in names if one.lower() == last), None)
        if name is not None and qualifiers in ("", "system.session"):
            found[name] = listed.apply(position)
    wrong = [name for name in names if name not in found or found[name].funcName() != name.lower()]
    if wrong:  # as where a name has a line break in it
        raise LookupError(f"the registry has no functions {', '.join(wrong)}")
    return found


def _describe(jvm: Any, registry: Any, identifier: Any, description: Description, new: bool) -> None:
    """Register a function again as it is, but for its description."""
    info = registry.lookupFunction(identifier).get()
    builder = registry.lookupFunctionBuilder(identifier).get()
    usage, arguments, examples = description.texts()
    described = jvm.org.apache.spark.sql.catalyst.expressions.ExpressionInfo(
        info.getClassName(), info.getDb(), info.getName(), usage, arguments, examples, "", "", "", "", info.getSource()
    )
    registry.registerFunction(identifier, info, builder)  # changes nothing: what is dropped can be registered
    if new:
        registry.dropFunction(identifier)
    registry.registerFunction(identifier, described, builder)
