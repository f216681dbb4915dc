"""The door of the package: what `import rmqalloc` loads, and that verbs and rooms do not hide each
other.
"""

import inspect
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from interpreter import run_python
from source_modules import MODULES

import rmqalloc

NAMES = "check compare diff explain fetch groups plan read recommend rollout show simulate verify"
VERBS = NAMES.split()
ENGINE = {
    "_engine",
    "dataclass",
    "lazy",
    "text",
    "version",
    "errors",
    "fleet",
    "model",
    "results",
    "strategies",
}


def rooms_after(statement):
    """Rooms of rmqalloc that are loaded after a statement."""
    script = f"import sys; {statement}; print(*filter(lambda name: name.startswith('rmqalloc.'), sys.modules))"
    return {name.split(".")[1] for name in run_python(script)}


def test_importing_rmqalloc_loads_no_room_and_its_engine_no_other():
    assert rooms_after("import rmqalloc") == {"errors", "version"}
    assert rooms_after("from rmqalloc import Fleet, strategy") == ENGINE
    script = "import sys; from rmqalloc import Fleet, strategy; print(*sys.modules)"
    of_results = {name for name in run_python(script) if name.startswith("rmqalloc.results.")}
    assert of_results == {"rmqalloc.results.tabular"}


def test_a_client_in_virtual_time_loads_no_pyarrow():
    imported = "from rmqalloc import broker, client, rebalance; from rmqalloc.simulation import VirtualClock"
    assert run_python(f"import sys; {imported}; print('pyarrow' in sys.modules)") == ["False"]


def test_a_source_tree_that_is_not_compiled_says_so(tmp_path):
    """A program beside the sources finds them before the package that is installed."""
    package = Path(rmqalloc.__file__).parent
    kernels = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(package, tmp_path / "rmqalloc", ignore=kernels)
    program = tmp_path / "program.py"
    program.write_text("import rmqalloc; import rmqalloc.client")
    environment = {name: value for name, value in os.environ.items() if "PYTHON" not in name}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"rmqalloc._engine.NotCompiledError: the source tree of rmqalloc in {tmp_path} is not compiled: "
        "run the program from another folder, or compile the tree with `make dev`"
    )


def test_a_command_chooses_its_threads_before_numpy_is_loaded():
    """OpenBLAS reads their number once, and its threads wait by running for their first work."""
    script = "import sys; from rmqalloc.cli import main; print('numpy' in sys.modules)"
    assert run_python(script) == ["False"]
    script = (
        "import os, sys; from rmqalloc.cli import main; sys.argv[1:] = ['-V']; main();"
        "print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
    )
    assert run_python(script)[-2:] == ["False", "1"]


def loaded(*arguments):
    """Modules that a process of Python imports."""
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    return {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }


def test_importing_rmqalloc_loads_nothing_that_takes_long():
    alone = loaded("-c", "import numpy")
    engine = loaded("-c", "import numpy; from rmqalloc import Fleet, strategy")
    assert (engine - alone) & {
        "logging",
        "concurrent.futures",
        "difflib",
        "json",
    } == set()


def test_planning_a_file_of_json_loads_nothing_of_other_forms():
    pytest.importorskip("pandas")  # which pyarrow imports where it can
    found = loaded(
        "-m", "rmqalloc", "plan", "-f", "example:live", "--scale", "3", "--require", "any"
    )
    assert {"rmqalloc.plans", "pyarrow"} <= found
    others = {
        "pandas.core",
        "pyarrow.acero",
        "pyarrow.dataset",
        "pyarrow.parquet",
        "yaml",
        "csv",
        "hashlib",
    }
    mine = {"files.csv_text", "files._write_files", "files.outputs._sections", "live.fetching"}
    assert found & (others | {f"rmqalloc.snapshot.{name}" for name in mine}) == set()


@pytest.mark.parametrize(
    ("given", "is_refused"),
    [(["plan"], True), (["bulk"], True), (["bulk", "--spark"], False), (["doctor"], False)],
)
def test_only_commands_that_start_spark_may_import_pandas(given, is_refused):
    """PySpark does not work without it."""
    run = f"import sys, rmqalloc.cli; sys.argv[1:] = {[*given, '--help']}; rmqalloc.cli.main()"
    script = f"{run}\ntry: import pandas\nexcept ModuleNotFoundError as error: print(error)"
    assert ("does without pandas" in " ".join(run_python(script)[-6:])) is is_refused


def test_no_module_bears_the_name_of_a_verb():
    assert not {f"rmqalloc.{verb}" for verb in VERBS} & set(MODULES)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_stays_what_it_is_whatever_is_imported(verb):
    before = getattr(rmqalloc, verb)
    assert callable(before) and inspect.getdoc(before)
    for name in MODULES:
        if name.startswith("rmqalloc.") and name.rpartition(".")[2] == verb:
            import_module(name)
    assert getattr(rmqalloc, verb) is before


def test_all_names_are_there_and_no_others():
    assert all(getattr(rmqalloc, name) is not None for name in rmqalloc.__all__)
    assert set(rmqalloc.__all__) <= set(dir(rmqalloc))
    with pytest.raises(AttributeError, match="no attribute 'plans_of'"):
        rmqalloc.plans_of  # noqa: B018


def test_a_verb_says_which_package_is_missing():
    script = "import sys; sys.modules['pyarrow'] = None; import rmqalloc; rmqalloc.plan"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=180
    )
    assert (
        'ModuleNotFoundError: pyarrow is not installed: install rmqalloc with the extra [arrow], or pip install "pyarrow"'
        in done.stderr
    )


# --- Results ---


@pytest.fixture(scope="module")
def results():
    cluster = rmqalloc.read("example:seed")
    script = {"duration": "10s", "brokers": "b", "topics": [{"name": "t", "read_queue_nums": 2}]}
    groups = {"groups": [{"name": "g", "topics": "t", "clients": 2}]}
    return {
        "plan": rmqalloc.plan(
            cluster, [{"name": "six", "changes": [{"scale_clients": {"to": 6}}]}]
        ),
        "compare": rmqalloc.compare(cluster, ["AVG", "AVG_BY_CIRCLE"]),
        "check": rmqalloc.check(cluster),
        "show": rmqalloc.show(cluster),
        "groups": rmqalloc.groups(cluster),
        "diff": rmqalloc.diff(cluster, cluster),
        "explain": rmqalloc.explain(cluster, "by-average", "TopicTest", "broker-a", 0),
        "rollout": rmqalloc.rollout.restart(cluster),
        "best restart": rmqalloc.rollout.best_restart(cluster),
        "recommend": rmqalloc.recommend(cluster),
        "simulate": rmqalloc.simulate(
            import_module("rmqalloc.simulation").Script.of(script | groups)
        ),
    }


KINDS = (
    *(
        "plan",
        "compare",
        "check",
        "show",
        "groups",
        "diff",
        "explain",
        "rollout",
        "best restart",
        "recommend",
    ),
    "simulate",
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_prints_converts_and_saves(kind, results, tmp_path):
    import json

    import pyarrow as pa

    result, document = results[kind], results[kind].to_dict()
    assert any(document.values())
    assert (
        str(result) and "\x1b" not in str(result) and repr(result).startswith("<")
    ) or kind == "explain"
    assert pa.table(result).equals(result.main_table())
    assert result._repr_html_().startswith("<div")
    path = tmp_path / "result.json"
    result.save(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(document))


def test_text_of_mqadmin_is_read_as_it_is_printed(tmp_path):
    text = '{"apiVersion": "rmqalloc/v2",\n"kind": "Snapshot"}'
    (tmp_path / "s.json").write_text(text)
    assert (
        rmqalloc.read(text)
        == rmqalloc.read(tmp_path / "s.json")
        == rmqalloc.read([tmp_path / "s.json"])
    )
    with pytest.raises(rmqalloc.Error, match="text:2:2: not JSON"):
        rmqalloc.read('{"apiVersion": "rmqalloc/v2"\n}}', "json")
