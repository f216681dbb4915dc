"""The first minute of a new user: ``python -m first_minute WHEEL [--quick] [--report PAGE]
[--environment VENV]``.

An empty virtual environment gets the wheel with ``[cli]``; then the first three commands of the
README are run in an empty folder, and must print what the README shows. The transcript names no
path of the machine. ``--environment`` names another.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from checkout import ROOT

N_COMMANDS = 3
NOT_WANTED = {"pyspark", "pandas", "py4j"}
"""What `[cli]` must not bring."""


def commands(page):
    """The first commands of rmqalloc that a page shows with their output, and it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("rmqalloc "):
                found.append((command.partition(" #")[0].strip(), output.strip("\n")))
    return found[:N_COMMANDS]


def run(environment, folder, words):
    """Exit code and what was printed by a program of the environment, which knows nothing of this
    process's settings.
    """
    kept = {
        name: os.environ[name]
        for name in ("HOME", "LANG", "PIP_INDEX_URL", "PIP_CACHE_DIR")
        if name in os.environ
    }
    kept |= {"PATH": str(environment / "bin"), "PYTHONUTF8": "1"}
    command = [str(environment / "bin" / words[0]), *words[1:]]
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=900
    )
    return done.returncode, done.stdout + done.stderr


def installed(environment, folder, wheel, lines):
    """Install the wheel and list what came with it."""
    code, said = run(
        environment,
        folder,
        ["pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[cli]"],
    )
    if code:
        sys.exit(f"pip install ended with {code}: {said}")
    _, listed = run(
        environment, folder, ["pip", "list", "--disable-pip-version-check", "--format", "freeze"]
    )
    packages = sorted(
        line for line in listed.splitlines() if not line.startswith(("pip==", "setuptools=="))
    )
    packages = [re.sub(" @ .*", "", line) for line in packages]
    lines += ['$ fresh/bin/pip install "rmqalloc-*.whl[cli]"', "$ fresh/bin/pip freeze", *packages]
    return {re.split("[= ]", line)[0].lower() for line in packages}


def minute(environment, wheel, page):
    """The transcript, and what is wrong with it."""
    lines, wrong = ["$ python -m venv fresh"], []
    with tempfile.TemporaryDirectory() as folder:
        if unwanted := installed(environment, folder, wheel, lines) & NOT_WANTED:
            wrong.append(f"[cli] brings {', '.join(sorted(unwanted))}")
        for command, shown in commands(page):
            code, said = run(environment, folder, shlex.split(command))
            lines += [f"$ {command}", said.rstrip("\n"), "$ echo $?", str(code)]
            if said.strip("\n") != shown:
                wrong.append(f"{command} prints other than the README shows:\n{said}")
    return lines, wrong


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m first_minute", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--report", type=Path, help="page to write")
    parser.add_argument(
        "--environment", type=Path, help="virtual environment to use instead of a new one"
    )
    parser.add_argument(
        "--quick", action="store_true", help="changes nothing: all of it takes a minute"
    )
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        environment = given.environment or Path(folder, "fresh")
        if given.environment is None:
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        lines, wrong = minute(
            environment.absolute(), given.wheel.absolute(), (ROOT / "README.md").read_text("utf-8")
        )
    text = "\n".join(lines)
    if given.report is not None and not wrong:
        head = "# The first minute\n\nA new virtual environment, the wheel with `[cli]`, and the README's first three commands."
        made = "Made by `python -m first_minute WHEEL --report build/evidence/first-minute.md`."
        given.report.write_text(f"{head}\n{made}\n\n```console\n{text}\n```\n", "utf-8")
    print(text, *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
