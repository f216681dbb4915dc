"""What the compiled package answers in Pyodide under Node: the golden answers, and plans beside
those of this machine.
"""

import importlib.util
import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from checkout import DATA, PROOFS, ROOT, SUPPORT

from platforms.browser.releases import needs

SNAPSHOTS = ROOT / "rmqalloc" / "examples" / "snapshots"
PAGE_CODE = ROOT / "docs" / "try" / "answers.py"
SCENARIOS = (
    {"name": "six clients", "changes": [{"scale_clients": {"to": 6}}]},
    {"name": "two clients", "changes": [{"scale_clients": {"to": 2}}]},
    {
        "name": "a ring",
        "changes": [
            {"set_strategy": {"strategy": "CONSISTENT_HASH", "params": {"virtual_nodes": 160}}}
        ],
    },
    {"name": "in a circle", "changes": [{"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}]},
    {"name": "stable", "changes": [{"set_strategy": {"strategy": "STABLE"}}]},
    {"name": "no broker-a", "changes": [{"remove_broker": {"broker_name": "broker-a"}}]},
    {"name": "a mistake", "changes": [{"scale_clients": {"to": -1}}]},
)
FACTS = """
import json, sys, numpy, rmqalloc
from rmqalloc._engine import md5
try:
    import pyarrow
except ImportError:
    pyarrow = None
print(json.dumps({
    "python": sys.version.split()[0], "platform": sys.platform, "pointer": numpy.dtype(numpy.intp).itemsize * 8,
    "numpy": numpy.__version__, "pyarrow": pyarrow and pyarrow.__version__, "isa": md5.isa(), "wheel": rmqalloc.__version__,
}))
"""
GOLDEN = """
import sys
sys.path.insert(0, "/checkout/tests/support")
import replay_golden
if replay_golden.main():
    raise SystemExit("golden answers differ")
"""
PLANS = """
import json, sys, time
sys.path.insert(0, "/page")
from answers import answers
for name, scenario in json.load(open("/cases.json")):
    started = time.perf_counter()
    text = answers(open("/snapshots/" + name).read(), json.dumps([scenario]))
    print(json.dumps([text, time.perf_counter() - started]))
"""


@dataclass
class InNode:
    """A runtime with the wheel in it."""

    runtime: Path
    wheels: list
    archives: list

    def run(self, code, files=()):
        """What Python text prints there, and the seconds that the process took."""
        needs(("node", "nodejs"))
        job = {
            "runtime": f"{self.runtime}/",
            "wheels": self.wheels,
            "archives": self.archives,
            "code": code,
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.json")
            path.write_text(
                json.dumps(job | {"files": {str(here): there for here, there in files}})
            )
            command = ["node", str(PROOFS / "platforms" / "browser" / "run.mjs"), str(path)]
            started = time.monotonic()
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=1800, check=False
            )
        if ended.returncode:
            raise RuntimeError(
                f"node ended with {ended.returncode}: {ended.stdout[-2000:]}{ended.stderr[-4000:]}"
            )
        return ended.stdout, time.monotonic() - started

    def facts(self):
        """Versions and the like."""
        return json.loads(self.run(FACTS)[0])

    def golden(self):
        """The line that the replay prints, and its seconds; an error if an answer differs."""
        files = [
            (SUPPORT / "replay_golden.py", "/checkout/tests/support/replay_golden.py"),
            (DATA / "golden.jsonl.gz", "/checkout/tests/data/golden.jsonl.gz"),
        ]
        out, seconds = self.run(GOLDEN, files)
        return out.strip(), seconds

    def plans(self, cases):
        """The page's answers for snapshots and scenarios, and the seconds of each."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
            json.dump(cases, listed)
            listed.flush()
            files = [(PAGE_CODE, "/page/answers.py"), (listed.name, "/cases.json")]
            files += [
                (path, f"/snapshots/{path.name}") for path in SNAPSHOTS.iterdir() if path.is_file()
            ]
            out, _ = self.run(PLANS, files)
        return [json.loads(line) for line in out.splitlines()]


def all_cases():
    """Every example snapshot with every scenario."""
    names = sorted(path.name for path in SNAPSHOTS.iterdir() if path.suffix in (".json", ".yaml"))
    return [(name, scenario) for name in names for scenario in SCENARIOS]


def on_this_machine(cases):
    """The same answers by the package that is installed here."""
    spec = importlib.util.spec_from_file_location("answers", PAGE_CODE)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return [
        page.answers((SNAPSHOTS / name).read_text(), json.dumps([scenario]))
        for name, scenario in cases
    ]


def differences(cases, there, here):
    """Cases whose answers are not the same text and the same report, byte by byte."""
    return [
        f"{name}, {scenario['name']}"
        for (name, scenario), one, other in zip(cases, there, here, strict=True)
        if one != other
    ]
