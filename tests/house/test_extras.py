"""What is imported only where it is needed: which extra brings it, and every hint says so."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires

import pytest
from checkout import ROOT
from source_modules import MODULES, imports

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import main
from rmqalloc.errors import EXTRAS, hint, is_optional, needs

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


@pytest.mark.parametrize(("missing", "argv", "extra"), [
    ("yaml", ["plan", "-f", "s.yaml", "--scale", "3"], "yaml"),
    ("pyarrow", ["plan", "-f", "s.json", "--scale", "3"], "arrow"),
    ("pyarrow", ["generate", "--units", "1", "--out", "x"], "arrow"),
    ("pyspark", ["bulk", "--spark", "-f", "x", "--out", "y"], "spark"),
])  # fmt: skip
def test_a_verb_names_the_smallest_extra(missing, argv, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text("apiVersion: rmqalloc/v2\n")
    (tmp_path / "s.json").write_text('{"apiVersion": "rmqalloc/v2", "kind": "Snapshot"}')
    script = f"import sys; sys.modules[{missing!r}] = None\nfrom rmqalloc.cli import main\nsys.exit(main({argv!r}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=180
    )
    assert (done.returncode, done.stdout) == (exit_codes.FAILURE, "")
    assert (
        done.stderr.splitlines()[-1]
        == f'rmqalloc: {EXTRAS[missing][0]} is not installed: pip install "rmqalloc[{extra}]"'
    )


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
    assert (
        capsys.readouterr().err
        == 'rmqalloc: grpcio is not installed: pip install "rmqalloc[connect]"\n'
    )
