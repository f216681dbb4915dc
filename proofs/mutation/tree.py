"""Copies of the tree, a server of test runs in each, and mutants put into them."""

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

import tied
from checkout import ROOT, copy_checkout

from mutation.kernels import Kernels

NO_SERVERS = "not servers"
COMPILEALL = ("compileall", "-q", "--invalidation-mode", "checked-hash", "rmqalloc", "spark_udfs")
"""Compiled Python is checked by content, as a mutant may be as old and as long as what it replaces."""


def copy_package(folder):
    """Copy what git does not ignore, and the kernels of the package that is installed."""
    import rmqalloc._engine

    copy_checkout(folder)
    for kernel in Path(rmqalloc._engine.__file__).parent.glob("*.so"):
        shutil.copy(kernel, folder / "rmqalloc" / "_engine" / kernel.name)


class Tree:
    """A copy of the checkout in a folder."""

    def __init__(self, folder):
        self.folder = folder
        copy_package(folder)
        subprocess.run([sys.executable, "-m", *COMPILEALL], cwd=folder, check=True)
        self.server = None

    @cached_property
    def kernels(self):
        return Kernels(self.folder)

    def __enter__(self):
        environment = os.environ | {
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CI": "1",
        }
        command = [sys.executable, Path(__file__).with_name("server.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.server = tied.popen(command, cwd=self.folder, env=environment, **pipes)
        return self

    def __exit__(self, *_):
        self.server.stdin.close()
        self.server.wait()

    def run(self, arguments, timeout, marks=NO_SERVERS, **more):
        """Answer of pytest with these arguments; see `server.run`."""
        request = {"arguments": ["-m", marks, *arguments], "timeout": timeout, **more}
        print(json.dumps(request), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())

    def log(self):
        return (self.folder / "mutation.log").read_text(encoding="utf-8", errors="replace")


class Workers:
    """Copies of the tree that are worked on side by side."""

    def __init__(self, n):
        self.n, self.stack, self.free = n, ExitStack(), queue.SimpleQueue()

    def __enter__(self):
        home = self.stack.enter_context(tempfile.TemporaryDirectory())
        for number in range(self.n):
            folder = Path(home, str(number))
            folder.mkdir()
            self.free.put(self.stack.enter_context(Tree(folder)))
        return self

    def __exit__(self, *details):
        return self.stack.__exit__(*details)

    @contextmanager
    def tree(self):
        tree = self.free.get()
        try:
            yield tree
        finally:
            self.free.put(tree)

    def map(self, function, things):
        """The results of a function of a tree and each thing."""

        def call(thing):
            with self.tree() as tree:
                return function(tree, thing)

        with ThreadPoolExecutor(self.n) as pool:
            return list(pool.map(call, things))


@contextmanager
def mutated(tree, mutants):
    """A copy of the tree with mutants in it; False if they do not compile."""
    files = {
        file: (ROOT / file).read_text(encoding="utf-8")
        for file in {mutant.file for mutant in mutants}
    }
    replaced = {}
    try:
        for file, text in files.items():
            for mutant in sorted(
                mutants, key=lambda mutant: -mutant.edit.start
            ):  # places before an edit stay
                text = mutant.applied(text) if mutant.file == file else text
            (tree.folder / file).write_text(text, encoding="utf-8")
        compiled = [file for file in files if file.startswith("pyx/")]
        replaced = tree.kernels.built(*compiled) if compiled else {}
        yield replaced is not None
    finally:
        for file, text in files.items():
            (tree.folder / file).write_text(text, encoding="utf-8")
        for old, content in (replaced or {}).items():
            old.unlink()
            old.write_bytes(content)
