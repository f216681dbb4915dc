"""Check that the README's commands print what it shows: ``python -m first_commands VENV``."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from checkout import ROOT
from shown_text import commands, files, fits


def main(venv: Path) -> int:
    """Run the commands by the programs of a virtual environment, in a folder with the page's files."""
    page, wrong = (ROOT / "README.md").read_text("utf-8"), 0
    for command, shown in commands(page):
        program, *words = shlex.split(command)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files(page).items():
                Path(folder, name).write_text(text, "utf-8")
            done = subprocess.run(
                [venv / "bin" / program, *words],
                cwd=folder,
                env={"PATH": str(venv / "bin"), "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        as_shown = fits(shown, done.stdout)
        wrong += not as_shown
        print("as shown" if as_shown else f"the README shows otherwise:\n{done.stdout}", command)
    return int(bool(wrong) or not commands(page))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
