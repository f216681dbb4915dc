"""What SECURITY.md promises of the code as a whole, and that the tests which it cites are there."""

import ast
import re

from checkout import ROOT
from cli_commands import COMMANDS
from source_modules import MODULES, imports_of

from rmqalloc.documents import read_budget, yaml_text
from rmqalloc.remoting import frames, loose_json

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
RUNS_DATA = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "execfile",
    "unsafe_load",
    "full_load",
    "system",
    "popen",
}
NOT_IMPORTED = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "code",
    "codeop",
    "pty",
    "runpy",
}
UNPICKLE = {
    "spark_udfs.sent": "what PySpark has pickled on the driver, in a worker that unpickles it anyway"
}
COMPILES = {
    "rmqalloc.dataclass": ({"exec"}, "names of fields of classes of the package"),
    "rmqalloc.documents.records": ({"exec", "marshal"}, "the same; marshal is written, never read"),
}
STARTS = {"spark_udfs._java_rule": "asks the Java that was found for its version"}
FOREIGN = {"rmqalloc.documents.store._disk": "renameat2, which the standard library does not have"}
SECRET = re.compile(r"key|secret|password|token|credential|acl")


HARMLESS = {("re", "compile"), ("platform", "system")}


def names(tree):
    """Functions that are called, but for harmless ones of the same names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                yield called.id
            elif (
                isinstance(called, ast.Attribute)
                and (getattr(called.value, "id", ""), called.attr) not in HARMLESS
            ):
                yield called.attr


def imported(source):
    """First parts of the names that are imported."""
    return {name.partition(".")[0] for name in imports_of("a.module", source, False)}


def faults(source):
    """Ways of a module to run what is only data."""
    return (RUNS_DATA & set(names(ast.parse(source)))) | (NOT_IMPORTED & imported(source))


def test_no_module_runs_data():
    assert {
        name: found for name, path in MODULES.items() if (found := faults(path.read_text("utf-8")))
    } == {name: {"pickle"} for name in UNPICKLE} | {
        name: how for name, (how, _) in COMPILES.items()
    }
    assert "marshal.load" not in MODULES["rmqalloc.documents.records"].read_text("utf-8")


def test_few_modules_start_programs_or_call_foreign_code_and_none_a_shell():
    sources = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    found = {name: imported(source) for name, source in sources.items()}
    assert {name for name, them in found.items() if "subprocess" in them} == STARTS.keys()
    assert {name for name, them in found.items() if {"ctypes", "cffi"} & them} == FOREIGN.keys()
    assert not any("shell=True" in source for source in sources.values())


def test_options_about_secrets_take_files():
    """What stands on a command line is seen by everybody on the machine."""
    asked = {
        (words, one.opts[0]): "file" if one.metavar == "FILE" else one.type.name
        for words, command in COMMANDS.items()
        for one in command.params
        if SECRET.search(one.opts[0]) and not getattr(one, "is_flag", False)
    }
    assert {name for _, name in asked} >= {"--acl-file"}
    assert set(asked.values()) <= {"file", "path"}


def test_figures_of_the_page_are_those_of_the_code():
    text = " ".join(PAGE.split())
    assert f"{read_budget.MAX_BYTES >> 20} MiB uncompressed, {read_budget.MAX_DEPTH} levels" in text
    assert yaml_text.MAX_NODES == 1_000_000 and "a million YAML values" in text
    frame, header = frames.MAX_FRAME >> 20, frames.MAX_HEADER >> 20
    assert f"frame of a server may have {frame} MiB, its header {header} MiB" in text
    assert f"body {loose_json.MAX_MARKS:,} marks" in text
    assert (
        read_budget.most_made() == 12 * read_budget.MAX_BYTES
        and "about twelve times the bytes" in text
    )


def missing_tests(page):
    """Tests that a page cites, as FILE or FILE::TEST, and that are not there."""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page):
        file = ROOT / path
        if not file.exists() or (name and f"def {name}(" not in file.read_text(encoding="utf-8")):
            yield path, name


def promises_without_tests(page):
    """First words of promises beside which no test is cited."""
    promised = page.partition("## What is promised")[2].partition("\n## ")[0]
    promises = [text for text in promised.split("\n\n") if text.startswith("**")]
    assert len(promises) > 5
    return [text[:40] for text in promises if "`tests/" not in text]


def test_every_promise_of_the_page_cites_tests_that_are_there():
    assert promises_without_tests(PAGE) == []
    assert [*missing_tests(PAGE)] == []


def test_the_rule_sees_a_promise_without_a_test_and_a_test_that_is_gone():
    assert promises_without_tests(PAGE.replace("`tests/fleet", "`").replace("`tests/e", "`"))
    gone = "`tests/house/test_gone.py` `tests/house/test_security.py::test_gone`"
    assert len([*missing_tests(gone)]) == 2


def test_the_rule_sees_what_runs_data():
    found = ["eval('1')", "import pickle", "os.system('x')", "yaml.unsafe_load(x)"]
    assert [source for source in found if not faults(source)] == []
    assert not faults("re.compile('a'); import yaml; yaml.load(x, Loader=safe)")
