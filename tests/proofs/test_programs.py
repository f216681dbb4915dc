"""Every proof is listed with its command, `make` runs it, and it has a short form."""

import re

from checkout import PROOFS, ROOT

README = (PROOFS / "README.md").read_text(encoding="utf-8")
BESIDE = {
    "fuzz.wire": PROOFS / "fuzz" / "wire.py",
    "bruteforce.defects": PROOFS / "bruteforce" / "defects.py",
}
"""Programs within the package of another one."""
ELSEWHERE = {"movement"}
"""Programs of `benchmarks/` that the table names, too."""


def programs():
    """What ``python -m`` runs here, by name: packages, modules beside them, and `BESIDE`."""
    packages = {path.parent.name: path for path in PROOFS.glob("*/__main__.py")}
    modules = {
        path.stem: path for path in PROOFS.glob("*.py") if "__main__" in path.read_text("utf-8")
    }
    return packages | modules | BESIDE


def test_every_program_stands_in_the_table_and_nothing_else():
    listed = re.findall(r"^\| `python -m ([\w.]+)", README, re.MULTILINE)
    assert sorted(listed) == sorted(programs().keys() | ELSEWHERE)


def test_make_runs_every_program():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\(PROOF\) ([\w.]+)", makefile)) == programs().keys()


def test_every_program_has_a_short_form():
    assert [
        name for name, path in programs().items() if '"--quick"' not in path.read_text("utf-8")
    ] == []
