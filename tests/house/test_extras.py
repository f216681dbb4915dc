"""Optional packages: their extras, and the message of a verb or a call that lacks a package."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires

import pytest
from checkout import ROOT
from source_modules import MODULES, imports

import rmqalloc
from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import main
from rmqalloc.cli._verbs import VERBS
from rmqalloc.errors import EXTRAS, hint, is_optional, needs
from rmqalloc.snapshot.files import write_snapshot

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ALWAYS = {"numpy"}
OF_CHECKERS = {"typing_extensions"}  # imported under TYPE_CHECKING alone, which no program does


def normal(name):
    return re.sub("[-_.]+", "-", name).lower()


def parts(requirement):
    """Name and extras of a requirement such as ``pyspark[connect]>=4.1; extra == 'x'``."""
    name, extras = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement).groups()
    return normal(name), (extras or "").split(",") if extras else []


def brought(extra):
    """Distributions that an extra of rmqalloc installs: those it names, and what they need in their
    turn.
    """
    found = set()
    for name, extras in map(parts, PROJECT["optional-dependencies"][extra]):
        if name == "rmqalloc":
            found |= set().union(*map(brought, extras))
            continue
        found.add(name)
        for inner in requires(name) or ():
            marker = re.search(r"extra == ['\"]([\w-]+)['\"]", inner)
            if marker is None or marker[1] in extras:
                found.add(parts(inner)[0])
    return found


def optional_imports():
    """Modules outside of the standard library that any module of ours imports when it runs, but for
    numpy.
    """
    tops = {name.split(".")[0] for module in MODULES for name in imports(module, when_running)}
    return tops - set(sys.stdlib_module_names) - {"rmqalloc", "spark_udfs"} - ALWAYS


def when_running(tree):
    """As `ast.walk`, without what type checkers bring themselves and only they read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = [one for one in node.body if getattr(one, "module", "") not in OF_CHECKERS]
    return ast.walk(tree)


def test_every_optional_import_has_its_extra():
    assert optional_imports() >= {"click", "yaml", "pyarrow", "pyspark", "grpc"}
    assert optional_imports() <= EXTRAS.keys()


@pytest.mark.parametrize("module", EXTRAS)
def test_the_extra_of_a_hint_holds_the_package_and_none_smaller_does(module):
    distribution, extra = EXTRAS[module]
    assert normal(distribution) in brought(extra)
    others = [
        name for name in PROJECT["optional-dependencies"] if name not in (extra, "dev", "all")
    ]
    assert not [
        name
        for name in others
        if normal(distribution) in brought(name) and brought(name) < brought(extra)
    ]


def test_the_command_line_reads_yaml():
    assert {"click", "pyarrow", "pyyaml"} <= brought("cli")
    assert "pyspark" not in brought("cli") | brought("yaml") | brought("arrow")


def test_what_is_not_ours_to_bring_is_named_as_it_is():
    assert needs("polars") == "pip install polars"
    assert hint(ImportError("x", name="polars.io")) == "polars is not installed: pip install polars"
    assert hint(ImportError("odd")) == "a package is not installed: odd"
    assert not is_optional(ImportError("odd"))
    assert not is_optional(ImportError("x", name="rmqalloc.errors"))


# --- A verb without a package that it needs ---

YAML, JSON = ["-f", "s.yaml"], ["-f", "s.json"]
CHANGED = ["--scale", "3"]
CASE = str(next((ROOT / "tests/data").rglob("*.history")))

ARGUMENTS = {
    "groups": JSON,
    "show": JSON,
    "explain": [*JSON, "-g", "order-svc", "-t", "orders", "--queue", "broker-a:0"],
    "allocate": ["-t", "t", "--queues", "b:2", "--clients", "a"],
    "snapshot": ["-n", "127.0.0.1:1", "--out", "taken.json"],
    "plan": [*JSON, *CHANGED],
    "rollout": ["restart", *JSON],
    "compare": JSON,
    "recommend": JSON,
    "simulate": ["script.json", "-o", "json"],
    "bulk": ["-f", "x", "--out", "y"],
    "check": JSON,
    "diff": ["s.json", "s.json"],
    "history": ["-f", CASE],
    "guard": [*JSON, "-g", "order-svc", "-c", "10.0.0.1"],
    "verify": ["plan.json"],
    "doctor": [],
    "serve": JSON,
    "mcp": JSON,
    "context": ["list"],
    "report": ["plan.json", "--out", "plan.html"],
    "convert": ["s.json", "--out", "made.json"],
    "example": ["seed"],
    "schema": ["snapshot"],
    "generate": ["--units", "1", "--out", "fleet"],
    "completion": ["bash"],
    "help": ["plan"],
}
"""Arguments with which a verb needs no more than it always does."""

NO_TABLES = ("allocate", "doctor", "example", "schema", "completion", "help")

NEEDED = {
    "click": {verb: [] for verb in ARGUMENTS},
    "pyarrow": {
        **{verb: argv for verb, argv in ARGUMENTS.items() if verb not in NO_TABLES},
        "convert": ["s.json", "--out", "made.parquet"],
    },
    "yaml": {
        **dict.fromkeys(["groups", "show", "compare", "recommend", "check", "serve", "mcp"], YAML),
        "explain": [*YAML, "-g", "order-svc", "-t", "orders", "--queue", "broker-a:0"],
        "snapshot": ["--context", "east", "--out", "taken.json"],
        "plan": [*YAML, *CHANGED],
        "rollout": ["restart", *YAML],
        "simulate": ["example:three-deaths"],
        "bulk": ["-f", "x", "--out", "y", "--scenario", "example:what-if"],
        "diff": ["s.yaml", "s.json"],
        "guard": [*YAML, "-g", "order-svc", "-c", "10.0.0.1"],
        "verify": ["plan.json", *YAML],
        "context": ["list"],
        "report": ["plan.json", "--out", "plan.html", *YAML],
        "convert": ["s.yaml", "--out", "made.json"],
    },
    "pyspark": {"bulk": ["--spark", "-f", "x", "--out", "y"]},
    "pandas": {"bulk": ["--spark", "-f", "x", "--out", "y"]},
    "starlette": {"serve": JSON},
    "uvicorn": {"serve": JSON},
    "prometheus_client": {"serve": JSON},
    "mcp": {"mcp": JSON},
    "anyio": {"mcp": JSON},
}
"""Arguments with which a verb needs a module."""

TOGETHER = (
    ("click",),
    ("pyarrow",),
    ("yaml",),
    ("pyspark", "starlette", "mcp"),
    ("pandas", "uvicorn"),
    ("prometheus_client", "anyio"),
)
"""Modules that one process lacks: no verb needs two of them."""

BLOCKED = """
import contextlib, io, json, sys

missing, runs = json.loads(sys.argv[1])
for name in set(missing) - {"pandas"}:
    sys.modules[name] = None
if "pandas" in missing:  # pyarrow looks into a module of that name, None too
    class Blocked:
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] == "pandas":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Blocked)
from rmqalloc.cli import main

found = []
for argv in runs:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(argv)
    found.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""


def sentence(missing):
    distribution, extra = EXTRAS[missing]
    return (
        f"{distribution} is not installed: "
        f'install rmqalloc with the extra [{extra}], or pip install "{distribution}"'
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a file of every kind, and of contexts."""
    folder = tmp_path_factory.mktemp("files")
    cluster = rmqalloc.read("example:orders")
    write_snapshot(cluster, folder / "s.json")
    write_snapshot(cluster, folder / "s.yaml")
    change = {"name": "three", "changes": [{"scale_clients": {"to": 3}}]}
    rmqalloc.plan(cluster, [change]).save(folder / "plan.json")
    script = {"duration": "10s", "brokers": "b", "topics": [{"name": "t", "read_queue_nums": 2}]}
    groups = {"groups": [{"name": "g", "topics": "t", "clients": 2}]}
    (folder / "script.json").write_text(json.dumps(script | groups))
    (folder / "rmqalloc").mkdir()
    (folder / "rmqalloc/config.yaml").write_text("contexts:\n  east: {name_servers: 127.0.0.1:1}\n")
    return folder


def without(modules, runs, folder):
    """Exit codes and what is printed of command lines, run in one process without some modules."""
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, json.dumps([modules, runs])],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def printed(files):
    """What verbs print without a module that they need, by module and verb."""
    found = {}
    for modules in TOGETHER:
        cases = [(module, verb) for module in modules for verb in NEEDED[module]]
        runs = [[verb, *NEEDED[module][verb]] for module, verb in cases]
        found |= zip(cases, without(modules, runs, files), strict=True)
    return found


def test_every_verb_has_its_arguments():
    assert ARGUMENTS.keys() == VERBS.keys()


@pytest.mark.needs("pyspark")
@pytest.mark.parametrize(
    ("module", "verb"), [(module, verb) for module, runs in NEEDED.items() for verb in runs]
)
def test_a_verb_names_the_package_and_its_smallest_extra(module, verb, printed):
    code, out, err = printed[module, verb]
    assert (code, out) == (exit_codes.FAILURE, "")
    assert err.splitlines()[-1] == f"rmqalloc: {sentence(module)}"


@pytest.mark.parametrize("module", ["pyarrow", "yaml"])
def test_the_remaining_verbs_do_without(module, files):
    verbs = ARGUMENTS.keys() - NEEDED[module].keys() - {"bulk", "history", "generate"}
    runs = [[verb, *ARGUMENTS[verb]] for verb in sorted(verbs)]
    for argv, (code, _, err) in zip(runs, without([module], runs, files), strict=True):
        assert (code, err) == (exit_codes.DONE, ""), argv


IN_PYTHON = """
import json, sys
from pathlib import Path

missing, calls = json.loads(sys.argv[1])
sys.modules[missing] = None
import rmqalloc
from rmqalloc import Fleet
from rmqalloc.snapshot.files import write_snapshot

cluster = rmqalloc.read("s.json")
for call in calls:
    try:
        eval(call)
        print("no error")
    except ImportError as error:
        print(error)
"""


@pytest.mark.parametrize(("missing", "calls"), [
    ("pyarrow", [
        "rmqalloc.read('s.parquet')",
        "rmqalloc.plan(cluster, [])",
        "rmqalloc.check(cluster)",
        "rmqalloc.verify('plan.json')",
        "rmqalloc.simulate(Path('script.json')).to_dict()",
        "rmqalloc.simulate(Path('script.json')).main_table()",
        "Fleet.from_groups([('g', 't', [('b', 0)], ['c'])]).to_arrow([0])",
        "Fleet.from_arrow(None)",
        "write_snapshot(cluster, 'made.parquet')",
    ]),
    ("yaml", [
        "rmqalloc.read('s.yaml')",
        "rmqalloc.read('example:seed')",
        "rmqalloc.simulate(Path('script.yaml'))",
        "write_snapshot(cluster, 'made.yaml')",
    ]),
])  # fmt: skip
def test_calls_in_python_name_the_package(missing, calls, files):
    for name in ("s.parquet", "script.yaml"):
        (files / name).touch()
    done = subprocess.run(
        [sys.executable, "-c", IN_PYTHON, json.dumps([missing, calls])],
        cwd=files,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.stdout.splitlines() == [sentence(missing)] * len(calls), done.stderr


@pytest.mark.needs("pyspark")
def test_a_spark_connect_without_its_packages_is_no_defect(monkeypatch, capsys):
    from spark_udfs.job import command as job

    def lacking(*_args, **_kwargs):
        raise ImportError(
            "[PACKAGE_NOT_INSTALLED] grpcio >= 1.76.0 must be installed; however, it was not found."
        )

    monkeypatch.setattr(job, "running_session", lacking)
    assert (
        main(["bulk", "--spark", "--remote", "sc://x", "-f", "x", "--out", "y"])
        == exit_codes.FAILURE
    )
    assert capsys.readouterr().err == f"rmqalloc: {sentence('grpc')}\n"
