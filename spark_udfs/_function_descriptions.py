"""Descriptions for ``DESCRIBE FUNCTION`` of functions that run in Python workers.

PySpark registers such functions without a description. Spark's registry accepts one, but only through its JVM side, which is
not part of PySpark's interface. Where that fails, as under Spark Connect, functions work as they are and have no description.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from pyspark.sql import SparkSession


class Description(NamedTuple):
    """The description of a function.

    Attributes
    ----------
    usage : str
        Arguments in brackets and the result, such as ``(a [, b]) - What it returns.``
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
        """Usage, arguments and examples in the layout of Spark's own; Spark replaces ``_FUNC_`` by the name.

        Examples
        --------
        >>> Description("(a) - Same.", {"a": "any"}, "(1)", "1").texts()[1:]
        ('\\n    Arguments:\\n      * a - any\\n  ', '\\n    Examples:\\n      > SELECT _FUNC_(1);\\n       1\\n  ')
        """
        arguments = "".join(f"      * {name} - {what}\n" for name, what in self.arguments.items())
        examples = f"      > SELECT _FUNC_{self.example};\n       {self.answer}\n"
        return f"_FUNC_{self.usage}", f"\n    Arguments:\n{arguments}  ", f"\n    Examples:\n{examples}  "


def describe(spark: SparkSession, descriptions: Mapping[str, Description], new: bool = False) -> bool:
    """Add descriptions to temporary functions of a session."""
    try:
        registry = spark._jsparkSession.sessionState().functionRegistry()
        for name, identifier in _identifiers(registry, descriptions).items():
            _describe(spark._jvm, registry, identifier, descriptions[name], new)
    except Exception:  # whatever another release of Spark raises: a description must not break a function
        return False
    return True


def _identifiers(registry: Any, names: Collection[str]) -> dict[str, Any]:
    """The registry's identifiers of functions: the name alone, or from Spark 4.3 on prefixed with ``system.session.``."""
    listed = registry.listFunction()
    found = {}
    # One text for all: there are hundreds, and each call to the JVM costs.
    for position, text in enumerate(listed.mkString("\n").split("\n")):
        qualifiers, _, last = text.rpartition(".")
        name = next((one for one in names if one.lower() == last), None)
        if name is not None and qualifiers in ("", "system.session"):
            found[name] = listed.apply(position)
    wrong = [name for name in names if name not in found or found[name].funcName() != name.lower()]
    if wrong:  # such as a name with a line break
        raise LookupError(f"the registry has no functions {', '.join(wrong)}")
    return found


def _describe(jvm: Any, registry: Any, identifier: Any, description: Description, new: bool) -> None:
    """Register a function again with a description."""
    info = registry.lookupFunction(identifier).get()
    builder = registry.lookupFunctionBuilder(identifier).get()
    usage, arguments, examples = description.texts()
    described = jvm.org.apache.spark.sql.catalyst.expressions.ExpressionInfo(
        info.getClassName(), info.getDb(), info.getName(), usage, arguments, examples, "", "", "", "", info.getSource()
    )
    registry.registerFunction(identifier, info, builder)  # no change, but proves that what is dropped can be registered
    if new:
        registry.dropFunction(identifier)
    registry.registerFunction(identifier, described, builder)
