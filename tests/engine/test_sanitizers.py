"""C code under address and undefined-behaviour sanitizers, on buffers that end where the data ends."""

from pathlib import Path

import pytest
from c_programs import judge


@pytest.mark.slow
@pytest.mark.parametrize("name", ["md5", "preferences", "ring", "split", "strings", "tally"])
def test_under_sanitizers(name: str, tmp_path: Path) -> None:
    """Keys, units and lists of all sizes and kinds, under every instruction set, against plain
    answers written in C.
    """
    judge(name, tmp_path)
