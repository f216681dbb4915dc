"""How many examples a property test takes: few in the quick run, always the same ones, and many in
the nightly form.

The quick run looks for nothing new, so that it is green or red alike everywhere. `make test-all`
takes the number that a test names and new examples in every run; in CI these are the same in every
run, too. HYPOTHESIS_PROFILE names a profile.
"""

import os
from typing import Any

import hypothesis

QUICK_EXAMPLES = 8
"""Most examples of a test in the quick run: of thirty slow tests, these still found each fault that all examples found."""

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"

SAME = {"derandomize": True, "database": None}
PROFILES: dict[str, dict[str, Any]] = {
    "quick": {"max_examples": QUICK_EXAMPLES, **SAME},
    "ci": {"max_examples": 25, **SAME},
    "dev": {"max_examples": 25},
    "nightly": {"max_examples": 1000},
}

_most = 1_000_000


def load(part: str) -> None:
    """Load the profile of a part of the tests, before their modules are imported."""
    global _most
    timeless = hypothesis.settings(
        deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    for name, choices in PROFILES.items():
        hypothesis.settings.register_profile(name, timeless, **choices)
    profile = os.environ.get("HYPOTHESIS_PROFILE") or (
        "quick" if part == "quick" else "ci" if "CI" in os.environ else "dev"
    )
    hypothesis.settings.load_profile(profile)
    if profile == "quick":
        _most = QUICK_EXAMPLES


def examples(usual: int, nightly: int = 0) -> hypothesis.settings:
    """Settings of one test: `usual` examples, fewer in the quick run, and `nightly` ones, if given,
    in the nightly form.
    """
    return hypothesis.settings(max_examples=min(nightly if NIGHTLY and nightly else usual, _most))
