"""The blocks of pages, run in order in a folder of the page's own: ``python -m page_blocks
[--update] [PAGE ...]``.

In a ``console`` block the lines after a prompt are commands and the rest is what they print, word
by word; dots stand for anything. In ``bash`` blocks every command must end well. ``python`` blocks
share one namespace per page; with prompts they are doctests that ignore blanks. ``sql`` blocks go
to Spark. Everything runs in an environment with the extras that the page names below its title
(`page_environments`). ``--update`` writes what commands print now into the pages.

The folder holds files such as ``cluster.yaml``; ``10.0.0.1:9876`` is a name server on loopback;
``mqadmin`` prints what was recorded; ``make`` only says what it would do. A comment before a block
says more:

``<!-- file: NAME -->``
    The block is written to a file of that name.
``<!-- needs: REASON -->``
    The block is not run here, for one of the reasons of `NEEDS`; its commands are parsed, and
    options of rmqalloc known.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import tied
import yaml
from checkout import DATA, ROOT
from loopback import QUEUES, Loopback, running_info
from page_environments import extras_of, python_of
from shown_text import fits

from rmqalloc import read
from rmqalloc.cli import main
from rmqalloc.history import Recorder
from rmqalloc.history.moments import moment_of
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot import examples
from rmqalloc.snapshot.live import ClusterReading, GroupAges
from rmqalloc.watching import Observer

ELSEWHERE = {
    "docs/contributors/recipes.md": "its blocks change the checkout: tests/house/test_recipes.py runs them in a copy",
}
"""Pages whose blocks are not run here, and why."""

PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if str(page.relative_to(ROOT)) not in ELSEWHERE
]
"""Pages whose blocks are run."""

NEEDS = {
    "a package index": "installs packages",
    "a Spark cluster": "a master, a Connect server or an object store",
    "hours": "the long form of a proof or of a benchmark",
    "its own test": "run by a test that also looks at what it leaves behind",
    "a terminal": "runs until it is interrupted",
    "a history": "a file that a recorder wrote",
    "a running cluster": "a name server and brokers",
}
"""Why a block is not run, and what that means."""

SPARK_DEFAULTS = """spark.master local[2]
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.sql.shuffle.partitions 2
spark.driver.memory 1g
spark.sql.session.timeZone UTC
"""

BLOCK = re.compile(
    r"^(?:<!-- (file|needs): ([^\n]*?) -->\n\n?)?```(\w*)[^\n]*\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
GOOD = (0, 2, 3, 4)
"""Exit codes that are an answer."""
SHELL = re.compile(r"[|<>;&$`*(]|^(for|if|while|cd)\b")
CLIENTS = ["10.1.0.11@pod-1", "10.1.0.12@pod-2", "10.2.0.21@pod-3"]
NAME_SERVERS = re.compile(r"'?10\.0\.0\.1:9876(?:;10\.0\.0\.2:9876)?'?")


@dataclass
class Block:
    """One block of a page, and what the comment before it says."""

    language: str
    text: str
    file: str | None
    needs: str | None
    start: int
    """Where its text begins in the page."""


def blocks_of(text):
    """The blocks of a page.

    >>> [(b.language, b.needs) for b in blocks_of("<!-- needs: hours -->\\n```bash\\nmake bench\\n```\\n")]
    [('bash', 'hours')]
    """
    return [
        Block(
            found[3], found[4], found[2] if found[1] == "file" else None, found[2] if found[1] == "needs" else None,
            found.start(4),
        )
        for found in BLOCK.finditer(text)
    ]  # fmt: skip


@dataclass
class Folder:
    """Where the blocks of a page run; a context manager."""

    path: Path
    python: Path = Path(sys.executable)
    """The interpreter of the environment that the blocks run in."""
    has_history: bool = False
    last_code: int = 0
    wrong: list = field(default_factory=list)
    cluster: Loopback | None = None
    _program: Callable[[str, str], str] | None = None
    open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self):
        self._before = os.getcwd(), dict(os.environ)
        os.chdir(self.path)
        os.environ |= {
            "PATH": f"{self._programs()}:{os.environ['PATH']}",
            "COLUMNS": "100",
            "PYTHONSAFEPATH": "",
        }
        os.environ |= {
            "HOME": str(self.path),
            "TMPDIR": str(self.path),
            "XDG_CONFIG_HOME": str(self.path / ".config"),
            "SPARK_CONF_DIR": str(self.path / ".spark"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": str(self.python),
        }
        try:
            self._fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        self.open.close()
        os.chdir(self._before[0])
        os.environ.clear()
        os.environ |= self._before[1]

    def _programs(self):
        folder = self.path / ".programs"
        folder.mkdir()
        python = shlex.quote(str(self.python))
        texts = {
            "rmqalloc": f'{python} -m rmqalloc "$@"',
            "python": f'{python} "$@"',
            "make": f'env -u MAKEFLAGS {shutil.which("make")} -n -C {shlex.quote(str(ROOT))} "$@" > /dev/null',
            "mqadmin": f'cat "{DATA}/mqadmin/$1".order*.* 2> /dev/null || true',
            "mail": "cat > /dev/null",
            "pip": "exit 127",
        }
        for name, text in texts.items():
            (folder / name).write_text(f"#!/bin/bash\n{text}\n")
            (folder / name).chmod(0o755)
        return folder

    def _fill(self):
        """The files that pages name without making them."""
        orders = yaml.safe_load(Path(examples.find("orders").path).read_text(encoding="utf-8"))
        orders["topics"].append(
            {"name": "refunds", "brokers": [{"broker_name": "broker-a", "read_queue_nums": 8}]}
        )
        group = orders["groups"][
            0
        ]  # order-svc; its clients fill a batch, and do not say what they own
        group["clients"] = [
            {"client_id": f"10.1.0.{i}@77", "machine_room": "hz"} for i in range(11, 23)
        ]
        for name in ("cluster.yaml", "snapshot.yaml", "orders.yaml"):
            Path(name).write_text(yaml.safe_dump(orders), encoding="utf-8")
        for name in ("what-if.yaml", "more-pods.yaml"):
            shutil.copy(examples.find("what-if").path, name)
        Path("token.txt").write_text("a-token-of-a-page-which-is-made-up\n")
        Path("examples").symlink_to(ROOT / "examples")
        Path("1795247990144").symlink_to(DATA / "mqadmin" / "1795247990144")
        Path(".local/share/bash-completion/completions").mkdir(parents=True)
        Path(".spark").mkdir()
        Path(".spark/spark-defaults.conf").write_text(SPARK_DEFAULTS, encoding="utf-8")
        Path(".config/rmqalloc").mkdir(parents=True)
        Path(".config/rmqalloc/tools.yml").write_text(
            "accessKey: reader\nsecretKey: secret-of-a-page\n"
        )
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main(["convert", "cluster.yaml", "--out", "cluster.json"]) == 0
            assert main(["plan", "-f", "cluster.yaml", "--scale", "14", "--out", "plan.json"]) == 0
        if self.has_history:
            recorded("cluster.history", read("cluster.yaml"))

    # --- Blocks ---

    def run(self, block):
        """Run a block; returns the block's text with what its commands print now."""
        if block.file:
            Path(block.file).write_text(self._reachable(block.text), encoding="utf-8")
        if block.language == "console":
            return self._console(block.text)
        if block.language in ("bash", "sh") and not block.file:
            for command in commands_of(block.text):
                code, printed = self.command(command)
                if code not in GOOD:
                    self.wrong.append(f"$ {command}\nends with {code}:\n{printed}")
        elif block.language in ("python", "sql") and not block.file:
            self._run_in_program(block.language, self._reachable(block.text))
        return block.text

    def _console(self, text):
        lines, made = text.splitlines(), []
        while lines:
            command = lines.pop(0)
            assert command.startswith("$ "), f"output without a command: {command}"
            while command.endswith("\\"):
                command += "\n" + lines.pop(0)
            shown = []
            while lines and not lines[0].startswith("$ "):
                shown.append(lines.pop(0))
            made += [command, *self._compared(command[2:], shown)]
        return "\n".join(made) + "\n"

    def _compared(self, command, shown):
        """What stands below a command: as shown if that is right, else what the command prints."""
        bare = command.partition(" #")[0].strip()
        code, printed = self.command(bare)
        if code in (70, 127) or (not shown and code not in GOOD):
            self.wrong.append(f"$ {bare}\nends with {code}:\n{printed}")
        if not shown or fits("\n".join(shown), printed):
            return shown
        self.wrong.append(f"$ {bare}\nprints\n{printed}")
        return [line.rstrip() for line in printed.strip("\n").split("\n")]

    def _run_in_program(self, language, text):
        """Have a block run by the one program that holds the names of the page."""
        if self._program is None:
            self._program = self.open.enter_context(program(self.python))
        if wrong := self._program(language, text):
            self.wrong.append(wrong)

    # --- Commands ---

    def command(self, command):
        """Exit code and output of one command."""
        if command.strip() == "echo $?":
            return 0, f"{self.last_code}\n"
        words = (
            []
            if SHELL.search(without_quoted(command))
            else shlex.split(self._reachable(command), comments=True)
        )
        if words[:1] == ["export"]:
            os.environ |= dict(word.split("=", 1) for word in words[1:])
            return 0, ""
        if words[:2] == ["rmqalloc", "serve"]:
            self.last_code, printed = served(self.python, words[1:])
        elif words[:2] == ["rmqalloc", "mcp"]:  # it serves whoever is at its input: here nobody
            self.last_code, printed = self._shell(f"{command} < /dev/null")
        else:
            self.last_code, printed = self._shell(command)
        return self.last_code, printed

    def _shell(self, command):
        done = subprocess.run(
            ["bash", "-c", self._reachable(command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        return done.returncode, done.stdout

    def _reachable(self, command):
        """The command with the name server on loopback in it, and a short time to settle."""
        command = command.replace("--settle 20s", "--settle 100ms").replace(
            "--wait 120s", "--wait 1s"
        )
        if not NAME_SERVERS.search(command):
            return command
        if self.cluster is None:
            told = {ReadCode.GET_CONSUMER_RUNNING_INFO: owned_by_average}
            self.cluster = self.open.enter_context(
                Loopback(groups={"order-svc": CLIENTS}, more=told)
            )
        return NAME_SERVERS.sub(self.cluster.name_server, command)


@contextlib.contextmanager
def program(python):
    """A function that runs a block in an environment, and returns what is wrong."""
    reading, writing = os.pipe()
    command = [python, "-u", Path(__file__).with_name("page_python.py"), str(writing)]
    with (
        os.fdopen(reading, encoding="utf-8") as answers,
        tied.popen(
            list(map(str, command)), stdin=subprocess.PIPE, text=True, pass_fds=[writing]
        ) as process,
    ):
        os.close(writing)

        def run(language, text):
            print(json.dumps({"language": language, "text": text}), file=process.stdin, flush=True)
            answer = answers.readline()
            return json.loads(answer) if answer else "the program that runs the blocks has ended"

        yield run
        process.stdin.close()
        process.wait(60)


def served(python, words):
    """Exit code and output of a server that gets SIGTERM once it serves, at any port."""
    command = [str(python), "-m", "rmqalloc", *words, "--port", "0"]
    with tied.popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        first = process.stdout.readline()
        if address := re.search(r"http://\S+?:(\d+)/", first):
            urllib.request.urlopen(f"http://127.0.0.1:{address[1]}/healthz", timeout=300).close()
            process.terminate()
        rest, _ = process.communicate(timeout=300)
    return process.returncode, first + rest


def recorded(path, snapshot):
    """Write a history of 03:00 to 03:20, in which nothing happened."""
    observer, end = Observer(), moment_of("03:20")
    with Recorder(path, gap_after=90) as recorder:
        for at in (end - 60.0 * minutes for minutes in range(20, -1, -1)):
            ages = {
                one.name: GroupAges(at, None, {c.client_id: at for c in one.clients})
                for one in snapshot.groups
            }
            recorder.record(
                observer.observe(ClusterReading(snapshot, at, at, ages, frozenset(), True, {}))
            )


def owned_by_average(_server, request):
    """What a client of the cluster on loopback says: it owns what AVG gives it of two brokers with
    eight queues each.
    """
    at = CLIENTS.index(request.ext_fields["clientId"])
    first, last = (0, 6, 11, 16)[at : at + 2]
    low, high = (
        running_info(range(first, min(last, QUEUES))),
        running_info(range(max(first - QUEUES, 0), last - QUEUES)),
    )
    table = re.compile(r'"mqTable":\{(.*?)\},"properties"')
    entries = [table.search(low)[1], table.search(high)[1].replace("broker-0", "broker-1")]
    return table.sub('"mqTable":{' + ",".join(filter(None, entries)) + '},"properties"', low)


def without_quoted(command):
    """A command without what stands in quotes, and without its comment.

    >>> without_quoted("rmqalloc plan -g 'order-*'  # a; b").rstrip()
    'rmqalloc plan -g'
    """
    return re.sub(r"'[^']*'", "", command).partition(" #")[0]


def commands_of(text):
    """The commands of a shell block: lines, joined where a command goes on."""
    command = ""
    for line in text.splitlines():
        command += line
        if line.endswith("\\") or (
            re.match(r"(for|if|while) ", command) and not re.search(r"\n(done|fi)", command)
        ):
            command += "\n"
        else:
            if command.strip() and not command.lstrip().startswith("#"):
                yield command
            command = ""
    assert not command, f"a command has no end: {command}"


def needs_spark(text):
    """Whether blocks of a page that are run use Spark."""
    return any(
        b.language == "sql" or re.search("--spark|spark_udfs|pyspark", b.text)
        for b in blocks_of(text)
        if not b.needs
    )


def run_page(page, path):
    """Run the blocks of a page; returns what is wrong, and the page with what its commands print
    now.
    """
    text = page.read_text(encoding="utf-8")
    python = python_of(extras_of(text) or [])
    with Folder(path, python, has_history="cluster.history" in text) as folder:
        made, end = [], 0
        for block in blocks_of(text):
            made += [text[end : block.start], block.text if block.needs else folder.run(block)]
            end = block.start + len(block.text)
    return folder.wrong, "".join([*made, text[end:]])


def _main():
    parser = argparse.ArgumentParser(
        prog="python -m page_blocks", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--update", action="store_true", help="write what commands print now into the pages"
    )
    parser.add_argument("page", nargs="*", type=Path)
    given = parser.parse_args()
    n_wrong = 0
    for page in [one.absolute() for one in given.page] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            wrong, made = run_page(page, Path(folder))
        print(f"{page.name}: {len(wrong)} wrong", *wrong, sep="\n")
        n_wrong += len(wrong)
        if given.update:
            page.write_text(made, encoding="utf-8")
    return bool(n_wrong)


if __name__ == "__main__":
    sys.exit(_main())
