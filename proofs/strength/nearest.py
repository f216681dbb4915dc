"""Which tests of the quick tier are run for a mutant, and in which order."""

from pathlib import PurePath

from areas import AREAS
from checkout import ROOT
from mutation.reach import Reach, lines_of, test_files
from mutation.rooms import BY_NAME, Room

NO_SERVERS = "not servers"
QUICK = [f"--deselect={start}" for area in AREAS.values() for start in area.seconds]
"""Options of pytest that leave out the tests of areas."""
FOLDERS = {"spark_udfs": "spark", "pyx": "engine"}
"""Folders of tests that have another name than their room."""
OF_KERNELS = ("tests/engine", "tests/strategies", "tests/fleet")


def folder_of(file):
    """The folder of tests of a file's room."""
    first, second, *_ = file.split("/")
    return f"tests/{FOLDERS.get(first, second)}"


def text_of(file):
    return (ROOT / file).read_text(encoding="utf-8")


def distance(file, test):
    """How far a test is from a file of Python: a test file named like the module is nearest, then the room's folder."""
    module, at = PurePath(file).stem.strip("_"), PurePath(test.split("::")[0])
    name = at.stem.removeprefix("test_")
    return not (module in name or name in module), at.parent.as_posix() != folder_of(file)


class QuickReach(Reach):
    """Tests of the quick tier that start no server, the seconds each takes, and the lines of the mutants' files it reaches."""

    def __init__(self, tree, mutants, folders=("tests",)):
        wanted = {}
        for mutant in mutants:
            parts = lines_of(mutant, text_of(mutant.file)) if mutant.file.endswith(".py") else ()
            wanted.setdefault(mutant.file, []).extend(line for part in parts for line in part)
        name = "strength" if folders == ("tests",) else "strength-quick"
        room = Room(name, tuple(sorted(wanted)), folders, 0)
        super().__init__(room, tree, ["-m", NO_SERVERS, *QUICK], wanted)

    def nearest(self, mutant):
        """Tests of a mutant, nearest first, then the cheapest.

        Where nothing is seen to reach the line, as another process runs it, the folder of the room is taken as a whole.
        """
        every = [test for known in self.by_file.values() for test in known["seconds"]]
        if mutant.file.startswith("pyx/"):
            first = test_files(BY_NAME["pyx"])
            found = [test for test in every if test.startswith(OF_KERNELS)]
            return sorted(
                found,
                key=lambda test: (
                    not self.is_near(mutant, test),
                    test.split("::")[0] not in first,
                    self.seconds(test),
                ),
            )
        found = self.found(mutant, text_of(mutant.file))
        found = found or [test for test in every if test.startswith(f"{folder_of(mutant.file)}/")]
        return sorted(found, key=lambda test: (*distance(mutant.file, test), self.seconds(test)))
