"""A copy of the tree, and a server of test runs in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import tied
from mutants.__main__ import copied

SELECTED = "not servers and not slow and not java and not go"


class Tree:
    """A copy of the checkout in a folder.

    Compiled Python is checked by content there, as a mutant may be as old and as long as what it replaces.
    """

    def __init__(self, folder):
        self.folder = folder
        copied(folder)
        done = [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "checked-hash",
            "rmqalloc",
            "spark_udfs",
        ]
        subprocess.run(done, cwd=folder, check=True)
        self.server = None

    def __enter__(self):
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        self.server = tied.popen(
            [sys.executable, Path(__file__).with_name("server.py")],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_):
        self.server.stdin.close()
        self.server.wait()

    def run(self, paths, timeout, marks=SELECTED, **more):
        """Answer of pytest on these files and folders of tests; see `server.run`."""
        request = {"arguments": ["-m", marks, *paths], "timeout": timeout, **more}
        print(json.dumps(request), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())

    def log(self):
        return (self.folder / "mutation.log").read_text(encoding="utf-8", errors="replace")
