"""Mutants of what says that a plan in a directory is whole, and who writes it."""

from mutants.mutant import Mutant

_DIRECTORY = "spark_udfs/job/_plan_directory.py"
_KERNELS = "spark_udfs/job/_plan_kernels.py"
_RULES = "tests/spark/test_plan_directory.py"
_DIGESTS = "tests/spark/test_plan_kernels.py"

MUTANTS = [
    Mutant(
        _DIRECTORY,
        "    folder.remove([SUCCESS])\n    folder.write(MARKER",
        "    folder.write(MARKER",
        "a plan that is replaced is complete while its parts go",
        _RULES,
    ),
    Mutant(
        _DIRECTORY,
        "if name not in (MARKER, CLAIM)])",
        'if name not in (MARKER, CLAIM) and not name.startswith("part-")])',
        "parts of a killed run stay beside those of the next",
        _RULES,
    ),
    Mutant(
        _DIRECTORY,
        'claim.get("host") == host and',
        "claim and",
        "a writer on another machine is taken for dead",
        _RULES,
    ),
    Mutant(_DIRECTORY, "not any(map(_is_alive", "not all(map(_is_alive", "its Java may go on writing", _RULES),
    Mutant(_DIRECTORY, "return bool(known) and", "return not known or", "who does not say is taken for dead", _RULES),
    Mutant(
        _DIRECTORY,
        "            if self.text(name) == text:\n                self.remove([name])",
        "            self.remove([name])",
        "of two that take over a claim, one removes that of the other",
        _RULES,
    ),
    Mutant(
        _DIRECTORY,
        "        yield not _is_there(folder, shown, plan_id, overwrite)\n",
        "        yield True\n",
        "a plan that another run has completed meanwhile is written again",
        _RULES,
    ),
    Mutant(
        _DIRECTORY,
        "    except Exception:\n        folder.remove_text(CLAIM, claim)\n        raise",
        "    except Exception:\n        raise",
        "an error leaves the claim of a process that lives",
        _RULES,
    ),
    Mutant(_DIRECTORY, "if there and self.plan_id is None:", "if False:", "files of somebody else are removed", _RULES),
    Mutant(_DIRECTORY, 'return self.plan_id == "" or', "return", "a plan of bulk is replaced without a word", _RULES),
    Mutant(_DIRECTORY, "plan_id and not overwrite:", "plan_id and overwrite:", "another plan is replaced", _RULES),
    Mutant(
        _KERNELS,
        'totals = added(totals, {name: Totals(**one) for name, one in part["totals"].items()})',
        'totals = added({}, {name: Totals(**one) for name, one in part["totals"].items()})',
        "the summary counts one task",
        _DIGESTS,
    ),
]
