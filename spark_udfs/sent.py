"""Functions that are sent to Python workers and report packages that a worker lacks. Imports
pyspark only to pickle.

cloudpickle names a function of an installed module, and a worker without that module fails at the
name, before our code could report the reason. `Sent` therefore travels as pickled bytes beside a
function that opens them. cloudpickle sends that function by value, because it is local, and it
needs only Python's own library.
"""

import sys
from collections.abc import Callable
from typing import Any

from rmqalloc.version import __version__

_NEEDED = ("rmqalloc", "numpy", "pyarrow")


class Sent:
    """A function for Python workers. It arrives as the function itself, or as one sentence about the
    packages that the worker lacks.

    ``needed`` are packages besides rmqalloc, numpy and pyarrow.

    Examples
    --------
    >>> import pickle
    >>> from pyspark import cloudpickle
    >>> pickle.loads(cloudpickle.dumps(Sent(len)))
    <built-in function len>
    """

    def __init__(self, function: Callable[..., Any], *needed: str) -> None:
        self._function, self._needed = function, (*_NEEDED, *needed)
        # Spark shows this name in its plans.
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    # Without annotations: PySpark would take them for the kind of the function.
    def __call__(self, *arguments, **named):  # type: ignore[no-untyped-def]
        """Call the function in this process."""
        return self._function(*arguments, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the opener and its data."""
        from pyspark.cloudpickle import dumps

        pickled = dumps(self._function)  # type: ignore[no-untyped-call]
        return _opener(), (pickled, self._needed, __version__, sys.executable)


def _opener() -> Callable[..., Any]:
    """Return a local function, which no worker has to import."""

    def opened(pickled: bytes, needed: tuple[str, ...], version: str, python: str) -> Any:
        import pickle
        import sys
        from importlib.util import find_spec

        has = [f"no {name}" for name in needed if find_spec(name) is None]
        if not has:
            try:
                from rmqalloc.version import __version__ as there
            except ImportError as error:
                has = [f"a rmqalloc that cannot be imported ({error})"]
            else:
                if there == version:
                    return pickle.loads(pickled)
                has = [f"rmqalloc {there}"]
        raise ImportError(
            f"the workers' Python, {sys.executable}, has {', '.join(has)}: install the driver's packages there (rmqalloc "
            f"{version}), or set PYSPARK_PYTHON, before the session starts, to a Python that has them; the driver's is {python}"
        )

    return opened
