"""Former name of what `rmqalloc.evaluation` has now."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["PLAN_SCHEMA", "ErrCode", "PlanSpec", "plan_batch"]  # noqa: F822


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; rmqalloc.evaluation has its names"
        )
    from rmqalloc import evaluation

    text = f"rmqalloc.whatif.plan is now rmqalloc.evaluation; take {name} from there, 0.3.0 has no rmqalloc.whatif"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return getattr(evaluation, name)
