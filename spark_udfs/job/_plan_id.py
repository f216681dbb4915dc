"""The id of a plan: a digest of what is planned and of what it is made from. Imports no pyspark."""

import hashlib
import json
from typing import Any

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.scenarios import to_data
from rmqalloc.version import __version__


def plan_id_of(spec: PlanSpec, identity: Any) -> str:
    """Return the digest of the spec and the input; TypeError if the spec has values that are not
    plain data.

    Examples
    --------
    >>> plan_id_of(PlanSpec("AVG"), []) == plan_id_of(PlanSpec("AVG", {}), [])
    True
    """
    what = {
        "rmqalloc": __version__,
        "strategy": spec.strategy,
        "params": dict(spec.params),
        **to_data(spec.scenarios),
        "output": spec.output,
        "best_by": spec.best_by,
        "input": identity,
    }
    # Starts with a letter: Spark would read a directory name that looks like a number as one.
    return (
        "p"
        + hashlib.sha256(json.dumps(what, sort_keys=True, default=_plain).encode()).hexdigest()[:16]
    )


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise ArgumentTypeError(
        f"the parameters of a job must be plain data, which its plan is known by, got {value!r}"
    )
