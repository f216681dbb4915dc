"""Whether the README's first commands print what it shows: ``python -m first_commands VENV``."""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from checkout import ROOT

N_COMMANDS = 3


def commands(page: str) -> list[tuple[str, str]]:
    """The first commands of rmqalloc that a page shows, each with its output."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("rmqalloc "):
                found.append((command.partition(" #")[0].strip(), output.strip("\n")))
    return found[:N_COMMANDS]


def main(venv: Path) -> int:
    """Run them by the programs of a virtual environment, in an empty folder."""
    wrong = 0
    for command, shown in commands((ROOT / "README.md").read_text("utf-8")):
        program, *words = shlex.split(command)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [venv / "bin" / program, *words],
                cwd=folder,
                env={"PATH": str(venv / "bin"), "PYTHONUTF8": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
        said = (done.stdout + done.stderr).strip("\n")
        wrong += said != shown
        print("as shown" if said == shown else f"the README shows otherwise:\n{said}", command)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
