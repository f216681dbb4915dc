"""Where things lie in the checkout that holds these tests."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
SUPPORT = ROOT / "tests" / "support"
PROOFS = ROOT / "proofs"
