"""The suite itself: what a test leaves behind, a tool that is missing, a test that hangs, another
order, ids.
"""

import random
import re
import subprocess
import sys
from types import SimpleNamespace

import collected_twice
import empty_loops
import hypothesis
import pytest
import server_ports
import skips
import tools
from checkout import ROOT
from ids_of_tests import faults
from interpreter import SUPPORT
from programs import environment

PLUGINS = ("pytest_timeout", "xdist", "ids_of_tests", "leaks", "order", "skips", "time_limits")
ALONE = environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="")
for name in ("CI", "BUILD_NUMBER"):  # pytest says more there
    ALONE.pop(name, None)

EVERY_TOOL = "import tools; tools.is_here = lambda name: True"
"""For tests whose fixtures have the names of those that need Java and need none."""

OF_ALL_THREADS = re.compile(
    r"""(?:setattr|patch|patch\.object)\(\s*(?:["'](?:[\w.]+\.)?time\.\w|(?:\w+\.)*time,)"""
)
"""A function of the module `time` that a test replaces, by whatever name the module is reached."""


@pytest.fixture
def run(tmp_path):
    """Run a file of tests with the plugins of the suite; its exit code and what it prints."""

    def run(text, *options):
        (tmp_path / "pytest.ini").write_text(
            "[pytest]\nmarkers =\n    needs(*tools): t\n    servers: s\n    slow: s\n"
        )
        (tmp_path / "test_it.py").write_text(
            f"import os, signal, subprocess, sys, threading, time\nimport pytest\n{text}"
        )
        plugins = [word for name in PLUGINS for word in ("-p", name)]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rA",
            "-p",
            "no:cacheprovider",
            *plugins,
            *options,
        ]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=ALONE,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


# --- What a test gives back ---

LEFT = {
    "working directory : ": "os.chdir('/')",
    "variable LEFT: 'not there' became b'1'": "os.environ['LEFT'] = '1'",
    "umask : ": "os.umask(0o123)",
    "limit RLIMIT_FSIZE: ": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, -1))",
    "handler of SIGINT: ": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "sys.path : ": "sys.path.insert(0, 'x')",
    "thread ": "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "program ": "subprocess.Popen(['sleep', '20'])",
}


def test_what_a_test_leaves_behind_fails_that_test_and_no_other(run):
    """And neither does a fixture of the file that holds something while its tests run."""
    text = """
@pytest.fixture(scope="module")
def held():
    os.environ["HELD"] = "1"
    server = subprocess.Popen(["sleep", "60"])
    yield
    del os.environ["HELD"]
    server.kill(), server.wait()

def test_first(held): pass
def test_second(): assert "HELD" in os.environ
"""
    lines = "".join(
        f"def test_left_{i}(): {one}\ndef test_after_{i}(): pass\n"
        for i, one in enumerate(LEFT.values())
    )
    code, said = run(f"import leaks\nleaks.PATIENCE = 0.2\n{text}{lines}")
    assert code == 1
    assert said.count("does not give back what it changed") == len(LEFT)
    for i, words in enumerate(LEFT):
        part = said.split(f"ERROR at teardown of test_left_{i} ")[1].split("\n_____")[0]
        assert f"\n  {words}" in part
    assert f"{2 * len(LEFT) + 2} passed, {len(LEFT)} errors" in said


@pytest.mark.parametrize(
    ("text", "is_of_all"),
    [
        ('setattr("time.sleep", f)', True),
        ('setattr(time, "sleep", f)', True),
        ('setattr(watch.time, "sleep", f)', True),
        ('setattr(\n    "rmqalloc.cli._watch.time.sleep", f)', True),
        ('patch.object(time, "sleep")', True),
        ('setattr("rmqalloc.cli._watch.time", clock)', False),
        ('setattr(watch, "time", clock)', False),
    ],
)
def test_a_clock_of_all_threads_is_found(text, is_of_all):
    assert bool(OF_ALL_THREADS.search(text)) is is_of_all


def test_no_test_changes_the_clock_of_all_threads():
    """Those of the Spark session sleep, too: one test's sleep counted theirs, or interrupted them."""
    found = [
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if path.name != "test_suite.py" and OF_ALL_THREADS.search(path.read_text("utf-8"))
    ]
    assert found == [], (
        "give a clock to the module: monkeypatch.setattr(module, 'time', SimpleNamespace(...))"
    )


def test_no_test_passes_where_there_is_nothing_to_look_at():
    assert empty_loops.of_the_suite() == [], (
        "assert what is looped over before the loop, or compare whole lists"
    )


@pytest.mark.thorough
def test_a_program_that_a_cluster_has_started_again_is_no_leak(run):
    text = f"""
{EVERY_TOOL}
class Cluster:
    programs = ()

@pytest.fixture(scope="session")
def cluster():
    one = Cluster()
    yield one
    for pid in one.programs:
        os.kill(pid, signal.SIGKILL), os.waitpid(pid, 0)

def test_again(cluster): cluster.programs = [os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)]
def test_after(cluster): pass
"""
    assert run(f"import leaks\nleaks.PATIENCE = 0.2\n{text}")[0] == 0
    code, said = run(
        f"import leaks\nleaks.PATIENCE = 0.2\n{text.replace('cluster.programs =', 'cluster.others =')}"
    )
    assert code == 1 and "was not waited for" in said


def test_a_thread_may_end_while_programs_are_listed(run):
    text = """
import leaks, pathlib

def test_it(monkeypatch):
    child, read, ended = subprocess.Popen(["sleep", "60"]), pathlib.Path.read_text, []
    def once_gone(path):
        if not ended:
            ended.append(path)
            raise ProcessLookupError(3, "No such process")
        return read(path)
    for _ in range(2):
        threading.Thread(target=time.sleep, args=(2,)).start()
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "read_text", once_gone)
        leaks._children()
    assert ended and child.pid in leaks._children()
    child.kill(), child.wait()
"""
    code, said = run(text)
    assert code == 0, said


def test_a_fixture_of_a_file_gives_back_too(run):
    text = """
@pytest.fixture(scope="module", autouse=True)
def held():
    os.environ["HELD"] = "1"

def test_it(): pass
"""
    code, said = run(text)
    assert code == 1
    assert (
        "ERROR at teardown of test_it" in said and "variable HELD: 'not there' became b'1'" in said
    )


SESSION = f"""
{EVERY_TOOL}
class View:
    isTemporary, name = True, "left"
class Catalog:
    views = []
    def listTables(self): return list(self.views)
class Session:
    catalog, settings = Catalog(), []
    def sql(self, text): return self
    def collect(self): return list(self.settings)

@pytest.fixture(scope="session")
def spark():
    yield Session()

def test_it(spark):
    if sys.platform: CHANGE
"""


@pytest.mark.parametrize(("change", "code"), [("Catalog.views.append(View)", 1), ("pass", 0)])
def test_a_view_that_a_file_leaves_in_the_one_session_fails(run, change, code):
    found, said = run(SESSION.replace("CHANGE", change))
    assert found == code
    assert ("table or view left: 'not there' became 'there'" in said) == bool(code)


# --- Tools that are missing ---

MISSING = """
import tools
tools.TOOLS["clang"] = tools.TOOLS["clang"]._replace(is_here=lambda: False)
tools.TOOLS["chromium"] = tools.TOOLS["chromium"]._replace(is_here=lambda: False)

@pytest.fixture
def late(): raise AssertionError("a skipped test sets nothing up")

@pytest.mark.needs("clang")
@pytest.mark.parametrize("i", range(30))
def test_c(i, late): pass

@pytest.mark.needs("chromium")
@pytest.mark.parametrize("i", range(20))
def test_page(i): pass

def test_it(): pass
"""


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("options", "code"), [((), 0), (("--no-skips",), 1), (("-n", "2", "--no-skips"), 1)]
)
def test_a_missing_tool_is_one_line_and_one_command(run, options, code):
    found, said = run(MISSING, *options)
    assert found == code
    assert "1 passed, 50 skipped" in said
    command = "apt-get install chromium clang libclang-rt-dev"
    assert f"skipped: 20 without chromium, 30 without clang; to run them: {command}\n" in said
    assert said.count("SKIPPED [") == 2
    assert ("not among those that may be" in said) == bool(code)


@pytest.mark.thorough
def test_a_skip_that_is_allowed_passes_and_any_other_fails(run):
    allowed = skips.ALLOWED[2].said
    text = f"@pytest.mark.skipif(True, reason={allowed!r})\ndef test_it(): pass\n"
    assert run(text, "--no-skips")[0] == 0
    code, said = run(text.replace("only root", "nobody"), "--no-skips")
    assert code == 1 and "test_it.py::test_it: nobody gives files away" in said


def test_each_command_installs_what_it_is_for():
    assert tools.command_for(["go", "zizmor", "chromium", "lief"]) == (
        "apt-get install chromium golang-go && pip install lief zizmor"
    )
    assert all(one.install.split(" ", 2)[1] == "install" for one in tools.TOOLS.values())


def support(*arguments, **variables):
    """Run a program of tests/support as make does before there is an environment."""
    command = [sys.executable, "-m", *arguments]
    variables = {"PYTHONPATH": SUPPORT, **variables}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_the_missing_java_is_named_before_anything_is_built(tmp_path):
    done = support("tools", "java", "maven", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "Debian, Ubuntu: apt-get install openjdk-17-jdk-headless maven\n" in done.stderr
    assert "dnf install" in done.stderr and "brew install" in done.stderr
    assert support("tools", "bash", **ALONE).returncode == 0


def test_a_java_home_that_leads_nowhere_is_no_java(tmp_path):
    assert support("tools", "java", **ALONE | {"JAVA_HOME": str(tmp_path)}).returncode == 1


def test_make_test_goes_on_without_java_and_says_so_in_one_line(tmp_path):
    done = support("prepared", "quick", PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "no javac on this machine: install Maven and a JDK of version 17 or newer"
    )
    assert line.endswith("; tests that need it are skipped")
    plan = {
        target: subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for target in ("test", "test-all")
    }
    assert {target: "-m tools java" in steps for target, steps in plan.items()} == {
        "test": False,
        "test-all": True,
    }


def test_a_port_is_given_out_once(monkeypatch):
    """To this run and to any other, before a server listens there."""
    first, drawn = server_ports.free_ports(3), []

    def randrange(low, high):
        drawn.append(first + 2 - len(drawn) if len(drawn) < 3 else random.randrange(low, high))
        return drawn[-1]

    monkeypatch.setattr(
        server_ports.random, "SystemRandom", lambda: SimpleNamespace(randrange=randrange)
    )
    assert not first <= server_ports.free_ports(1) < first + 3
    assert drawn[:3] == [first + 2, first + 1, first]


# --- Tests that hang, and their order ---

HANGS = """
@pytest.mark.timeout(2)
def test_hangs():
    threading.Event().wait()

def test_after(): pass
"""


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_one_that_hangs_fails_where_it_stands_and_the_run_goes_on(run, options):
    code, said = run(HANGS, *options)
    assert code == 1
    assert "1 failed, 1 passed" in said
    assert "Timeout" in said and "threading.Event().wait()" in said


def test_code_that_keeps_the_interpreter_ends_the_run_with_its_stack(run):
    text = "import ctypes\ndef test_it(): ctypes.PyDLL(None).sleep(100)\n"
    code, said = run(
        text, "-s", "-o", "faulthandler_timeout=1", "-o", "faulthandler_exit_on_timeout=true"
    )
    assert code == 1
    assert "Timeout (0:00:01)!" in said and 'test_it.py", line 4 in test_it' in said


def test_every_test_has_a_limit(request):
    assert all(item.get_closest_marker("timeout") for item in request.session.items)
    assert request.node.get_closest_marker("timeout").args == (
        600 if "slow" not in request.keywords else 1800,
    )


@pytest.mark.parametrize("profile", ["quick", "ci", "dev", "nightly"])
def test_no_profile_fails_where_the_machine_is_slow(profile):
    assert is_timeless(hypothesis.settings.get_profile(profile))


def is_timeless(settings):
    return (
        settings.deadline is None
        and hypothesis.HealthCheck.too_slow in settings.suppress_health_check
    )


def test_settings_of_a_test_do_not_bring_the_clock_back(request):
    tests = {item.nodeid: getattr(item, "obj", None) for item in request.session.items}
    given = {name: test for name, test in tests.items() if hypothesis.is_hypothesis_test(test)}
    assert [
        name
        for name, test in given.items()
        if not is_timeless(test._hypothesis_internal_use_settings)
    ] == []


@pytest.mark.thorough
def test_a_seed_is_an_order(run):
    text = "@pytest.mark.parametrize('i', range(20))\ndef test_it(i): pass\n"
    orders = [
        [line for line in run(text, *shuffled)[1].splitlines() if line.startswith("PASSED")]
        for shuffled in ((), ("--shuffle", "1"), ("--shuffle", "1"), ("--shuffle", "2"))
    ]
    assert orders[1] == orders[2]
    assert len({tuple(order) for order in orders}) == 3
    assert all(len(order) == 20 for order in orders)


# --- Ids ---

REFUSED = {
    "x" * 81: "has more than 80 characters",
    "caf\xe9": "is not printable ASCII",
    "a\nb": "is not printable ASCII",
    r"b'\x1f'-1": "is made of bytes",
    '(1, b"x")': "is made of bytes",
    "<lambda>-1": "shows a function or an object, not its name",
    "<function made.<locals>.read at 0x7f3c>": "shows a function or an object, not its name",
    "<object object>": "shows a function or an object, not its name",
    "array([1, 2])": "shows a function or an object, not its name",
    "/home/me/s.yaml": "holds the path of the home folder",
    "file:/home/me": "holds the path of the home folder",
}
TAKEN = (
    "",
    "x" * 80,
    "value0",
    r"a\x00b",
    '{"b": "c", "d": "e"}',
    "struct('b' AS c)",
    "<b>",
    "/home/me2",
    "a/home/me",
    "/",
)


def test_what_is_wrong_with_an_id_is_found():
    places = {"home folder": "/home/me", "checkout": "/"}
    assert {part: faults(part, places) for part in REFUSED} == {
        part: [fault] for part, fault in REFUSED.items()
    }
    assert {part: faults(part, places) for part in TAKEN} == {part: [] for part in TAKEN}


IDS = """
VALUES = [b"x", bytearray(1), "x" * 90, "y" * 1000, lambda: 0, "taken", pytest.param(b"y", id="named"), (b"z",)]

@pytest.mark.parametrize("value", VALUES)
def test_value(value): pass

class TestOfClass:
    @pytest.fixture(params=["taken", b"x"])
    def given(self, request): pass

    def test_fixture(self, given): pass
"""


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "workers"])
def test_every_refused_id_is_named_once_and_no_test_runs(run, options):
    code, said = run(IDS, *options)
    assert code in (1, 2)
    assert re.findall(r"^test_it\.py::(.*): the part in brackets (.*)$", said, re.MULTILINE) == [
        ("test_value[<bytes>0]", "is made of bytes"),
        ("test_value[<bytes>1]", "is made of bytes"),
        ("test_value[<a long text>0]", "has more than 80 characters"),
        ("test_value[<a long text>1]", "has more than 80 characters"),
        ("test_value[<lambda>]", "shows a function or an object, not its name"),
        ("TestOfClass::test_fixture[<bytes>]", "is made of bytes"),
    ]
    assert "give ids=[...] or pytest.param(..., id=...)" in said
    assert "passed" not in said


def test_given_ids_are_taken(run):
    text = "@pytest.mark.parametrize('value', [b'x', lambda: 0], ids=['bytes', 'function'])\ndef test_it(value): pass\n"
    code, said = run(text)
    assert code == 0
    assert "test_it[bytes]" in said and "test_it[function]" in said


VARYING = """
import os, pathlib, random, time
import pytest

HERE = pathlib.Path(__file__).parent
CASES = {
    "set": set("abcdefgh"),
    "folder": [path.name for path in HERE.iterdir()],
    "clock": [time.time()],
    "hidden_clock": [(time.time_ns(),)],
    "chance": [(random.random(),)],
    "home": [(os.environ["HOME"].split(os.sep),)],
    "zone": [(time.tzname,)],
    "steady": [({frozenset('abcd'): set('abcd')},), (object(),), (HERE,), *sorted(os.listdir(HERE))],
}

def pytest_generate_tests(metafunc):
    metafunc.parametrize("value", CASES[metafunc.function.__name__.removeprefix("test_")])
"""
VARIES = ("set", "folder", "clock", "hidden_clock", "chance", "home", "zone")


@pytest.mark.thorough
def test_what_depends_on_the_process_that_collects_is_named(tmp_path):
    """And nothing else: values that hold sets, objects and paths of the checkout are the same in
    both processes.
    """
    functions = "".join(f"def test_{name}(value): pass\n" for name in (*VARIES, "steady"))
    found = []
    for number, zone in enumerate(("UTC", "Asia/Kathmandu")):
        tests = tmp_path / str(number) / "tests"
        tests.mkdir(parents=True)
        (tests / "support").symlink_to(SUPPORT)
        (tests.parent / "pytest.ini").write_text("[pytest]\n")
        (tests.parent / "conftest.py").write_text("pytest_plugins = ['selected']\n")
        (tests / "test_it.py").write_text(f"{VARYING}{functions}")
        variables = {
            "HOME": str(tests),
            "TZ": zone,
            "PYTHONHASHSEED": str(number),
            collected_twice.BACKWARDS: str(number),
        }
        found.append(
            collected_twice.collected(tests.parent, tmp_path / f"{number}.json", **variables)
        )
    differ = collected_twice.differences(*found)
    named = [re.search(r"test_it\.py::test_(\w+)", text)[1] for text in differ]
    assert list(dict.fromkeys(named)) == list(VARIES)
    assert [test for test, _ in found[0] if "test_steady" in test] != []
