"""How many examples the tests take that compare with a slow twin: few by default, many in the nightly form."""

import os

from hypothesis import settings

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def examples(few: int, nightly: int) -> settings:
    """Settings of one test: `few` examples, or `nightly` ones where HYPOTHESIS_PROFILE is "nightly"."""
    return settings(max_examples=nightly if NIGHTLY else few, deadline=None)
