"""Run tests of a compiled module under every instruction set of this machine."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest


def isas_of(module: ModuleType, autouse: bool = False) -> Any:
    """Return a fixture that forces each instruction set in turn, and leaves the machine's own
    choice behind.
    """

    @pytest.fixture(params=module.available_isas(), scope="module", autouse=autouse)
    def isa(request: pytest.FixtureRequest) -> Iterator[str]:
        before = module.isa()
        module.force_isa(request.param)
        yield request.param
        module.force_isa(before)

    return isa
