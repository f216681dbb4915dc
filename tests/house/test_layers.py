"""Rules of the source that a machine can check: who imports whom, what a bare install needs."""

import ast
import re
import sys

import pytest
from checkout import ROOT
from interpreter import run_python
from source_modules import (
    BANDS,
    MODULES,
    ROOMS,
    as_module,
    circles,
    imports,
    imports_of,
    needs_of,
)

ONLY_IN = {"pyspark": "spark_udfs", "click": "rmqalloc.cli"}
OPTIONAL = ("pyarrow", "pandas", "pyspark", "click", "yaml", "scipy", "polars")


def room_of(name):
    """The room that a dotted name lies in, or None for what is not ours."""
    parts = name.split(".")
    if name == "spark_udfs.job.__main__":  # runs a verb
        return "rmqalloc.__main__"
    if parts[0] == "spark_udfs":
        in_job = parts[:2] == ["spark_udfs", "job"]
        return (
            "spark_udfs.job"
            if in_job
            else "spark_udfs"
            if as_module(name) == "spark_udfs"
            else "spark_udfs.*"
        )
    if parts[0] != "rmqalloc":
        return None
    room = ".".join(parts[:2])
    return room if room in ROOMS or room in MODULES else "rmqalloc"


def upward(module, imported):
    """Rooms that a module imports though they do not stand before its own."""
    room = room_of(module)
    lower = ROOMS[: ROOMS.index(room) + 1]
    return sorted({room_of(name) for name in imported} - {None, *lower})


def test_the_rule_sees_an_upward_import():
    assert upward(
        "rmqalloc.fleet.columns",
        imports_of("rmqalloc.fleet.columns", "from ..strategies import avg", False),
    )
    assert upward(
        "rmqalloc.strategies",
        imports_of("rmqalloc.strategies", "from . import ring\nimport rmqalloc", True),
    )
    assert upward("rmqalloc.broker.lock", ["rmqalloc.rebalance._service"])
    assert not upward(
        "rmqalloc.evaluation.batch_planning",
        ["rmqalloc.fleet.Fleet", "rmqalloc.strategies.strategy", "numpy"],
    )


def test_every_room_stands_in_a_band():
    assert {room_of(module) for module in MODULES} == set(ROOMS)


def test_the_tree_fits_on_a_screen():
    """Seven bands of at most 24 rooms, beside four modules that every room reads."""
    packages = {path.parent.name for path in (ROOT / "rmqalloc").glob("*/__init__.py")}
    assert len(BANDS) == 7
    assert len(packages) <= 24


@pytest.mark.parametrize("module", MODULES)
def test_no_room_imports_from_a_room_above(module):
    assert upward(module, imports(module)) == []


def past_doors(module, imported):
    """Names with an underscore in other rooms: such a module or name is its room's own. The engine
    is a room by that name.
    """
    own = {None, room_of(module), "spark_udfs.*" if module == "spark_udfs" else None}
    others = [name for name in imported if room_of(name) not in own]
    allowed = {"_engine", "__version__"}
    return sorted(
        name
        for name in others
        if any(part[0] == "_" for part in name.split(".")[1:] if part not in allowed)
    )


def test_the_rule_sees_an_import_past_a_door():
    assert past_doors(
        "rmqalloc.plans.plan",
        ["rmqalloc.fleet._memory", "rmqalloc._engine.ring", "rmqalloc.fleet.Fleet"],
    ) == ["rmqalloc.fleet._memory"]
    assert past_doors("rmqalloc.fleet.columns", ["rmqalloc.fleet.fleet"]) == []
    assert past_doors("rmqalloc.cli._app", ["rmqalloc.snapshot.files._csv_text.read"])


@pytest.mark.parametrize("module", MODULES)
def test_no_room_imports_what_another_keeps_to_itself(module):
    assert past_doors(module, imports(module)) == []


def test_no_room_imports_numpy_in_other_words():
    """In a browser, where pointers have 32 bits, `browser.cross` replaces these words: kernels
    refuse narrow indices.
    """
    other = re.compile(
        r"^\s*(from numpy import|import numpy$|import numpy as (?!np$))", re.MULTILINE
    )
    rooms = {name: path for name, path in MODULES.items() if name.startswith("rmqalloc.")}
    assert [name for name, path in rooms.items() if other.search(path.read_text("utf-8"))] == []


def test_no_modules_import_one_another_in_a_circle():
    """Not even by imports inside functions or under TYPE_CHECKING."""
    needs = needs_of(MODULES)
    assert needs["rmqalloc"] >= {"rmqalloc.fleet", "rmqalloc.model"}
    assert circles(needs).keys() == set()


def test_the_rule_sees_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}).keys() == set(
        "abc"
    )
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {}


@pytest.mark.parametrize(("library", "home"), ONLY_IN.items())
def test_a_library_is_named_in_its_room_only(library, home):
    """As an import, or as the text that an import by name would take."""
    named_by = set()
    for module, path in MODULES.items():
        texts = (
            node.value
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant)
        )
        names = [
            *imports(module),
            *(text for text in texts if isinstance(text, str) and " " not in text),
        ]
        if any(name.split(".")[0] == library for name in names):
            named_by.add(module)
    assert all(module == home or module.startswith(f"{home}.") for module in named_by), named_by


def test_the_arrow_side_of_spark_knows_no_spark():
    assert "spark_udfs.map_in_arrow" in MODULES
    assert not any(name.split(".")[0] == "pyspark" for name in imports("spark_udfs.map_in_arrow"))


# --- One way to write ---

STORE = "rmqalloc.documents.store"
OF_OS = "open fdopen replace rename renames remove unlink removedirs rmdir mkdir makedirs link symlink mkfifo truncate"
CHANGING = {
    "os": {*OF_OS.split(), "chmod", "chown"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
    "tempfile": {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory"},
}
OF_PATHS = {
    "write_text",
    "write_bytes",
    "unlink",
    "rmdir",
    "mkdir",
    "touch",
    "symlink_to",
    "hardlink_to",
}
OF_PATHS_BY_ONE = {
    "rename",
    "replace",
    "chmod",
}  # texts and dates have methods of these names with other arguments
NO_FILES = {
    "rmqalloc.cli._error_handler": {"os.open"},  # /dev/null in place of a pipe that nobody reads
    "rmqalloc.rebalance._lite_pull_consumer": {".replace"},  # of queues
    "rmqalloc.service.mcp._stdio": {
        "fdopen()",
        "os.fdopen",
        "os.open",
    },  # standard streams, /dev/null
}


def changes_of(source):
    """Calls in a module that open a file for writing, or make, rename or remove one."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = (
            called.id
            if isinstance(called, ast.Name)
            else called.attr
            if isinstance(called, ast.Attribute)
            else ""
        )
        modes = [
            each.value
            for each in (*node.args, *(word.value for word in node.keywords))
            if isinstance(each, ast.Constant)
        ]
        if name in ("open", "fdopen") and any(
            isinstance(mode, str) and re.fullmatch("[rbt]*[wax+][rbt+]*", mode) for mode in modes
        ):
            yield f"{name}()"
        if not isinstance(called, ast.Attribute):
            continue
        owner = called.value.id if isinstance(called.value, ast.Name) else ""
        if name in CHANGING.get(owner, ()):
            yield f"{owner}.{name}"
        elif name in OF_PATHS or (
            name in OF_PATHS_BY_ONE and len(node.args) == 1 and not node.keywords
        ):
            yield f".{name}"


WRITE = "open(p, 'w')|p.open(mode='ab')|p.write_text('')|os.replace(a, b)|new.rename(path)|shutil.rmtree(p)"
READ = "open(p)|p.open('rb')|'a'.replace('a', 'b')|split.rename(a, b, c)|replace(settings, n=1)"


def test_the_rule_sees_who_writes():
    assert [source for source in WRITE.split("|") if not list(changes_of(source))] == []
    assert [source for source in READ.split("|") if list(changes_of(source))] == []
    assert {
        name
        for path in MODULES
        if path.startswith(STORE)
        for name in changes_of(MODULES[path].read_text())
    }


@pytest.mark.parametrize(
    "module",
    [name for name in MODULES if name.startswith("rmqalloc") and not name.startswith(STORE)],
)
def test_nothing_but_the_store_opens_a_file_for_writing_renames_or_removes(module):
    assert set(changes_of(MODULES[module].read_text())) - NO_FILES.get(module, set()) == set()


# --- What a bare install needs ---


def test_the_engine_imports_numpy_alone():
    script = (
        "import sys, numpy; had = set(sys.modules); from rmqalloc import Fleet, strategy;"
        "print(*(set(sys.modules) - had))"
    )
    tops = {name.split(".")[0] for name in run_python(script)}
    ours = {
        name
        for name in tops
        if name not in sys.stdlib_module_names and not name.startswith(("_cython", "cython_"))
    }
    assert ours - {"numpy"} == {"rmqalloc"}


def test_allocating_works_where_nothing_optional_is_installed():
    script = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))  # None: importing it fails
from rmqalloc import Fleet, strategy
queues = [("t", "b", i) for i in range(5)]
print(strategy("CONSISTENT_HASH").assign(queues, ["x", "y"]).owners.size)
print(*strategy("AVG").assign_fleet(Fleet.from_groups([("g", "t", queues, ["x", "y"])])))
"""
    assert run_python(script) == ["5", "0", "0", "0", "1", "1"]


# --- Locks ---

# Rooms whose objects threads share, above them all that is reached from a fleet. A child that is
# forked while another thread holds a lock waits for it forever, and Spark's Python daemon forks.
WITHOUT_LOCKS = (
    *("model", "lazy", "dataclass", "text", "_engine", "fleet", "strategies", "evidence", "report"),
    *("scenarios", "evaluation", "ownership.transitions", "plans", "audit", "rollouts"),
)
LOCKS = {
    "threading",
    "multiprocessing",
    "functools.cached_property",
    "functools.singledispatch",
    "queue",
}


def locks_named(imported):
    return sorted({name for name in imported if name in LOCKS or name.split(".")[0] in LOCKS})


@pytest.mark.parametrize("room", WITHOUT_LOCKS)
def test_what_threads_share_has_no_locks(room):
    mine = [
        one for one in MODULES if one == f"rmqalloc.{room}" or one.startswith(f"rmqalloc.{room}.")
    ]
    assert mine
    assert {one: locks for one in mine if (locks := locks_named(imports(one)))} == {}


def pools_kept(source):
    """Pools that are made outside functions, when the module is imported: such a one is dead in a
    forked child.
    """
    tree = ast.parse(source)
    for function in [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)
    ]:
        function.body = []
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        name
        for name in (getattr(func, "attr", getattr(func, "id", "")) for func in calls)
        if "PoolExecutor" in name
    ]


def test_no_module_keeps_a_pool_of_threads():
    assert {
        module: pools for module, path in MODULES.items() if (pools := pools_kept(path.read_text()))
    } == {}


def test_the_rules_see_a_lock_and_a_pool():
    assert locks_named(
        imports_of("m", "import threading\nfrom functools import cached_property, partial", False)
    ) == [
        "functools.cached_property",
        "threading",
    ]
    assert locks_named(imports_of("m", "from threading import Lock", False)) == ["threading.Lock"]
    assert pools_kept(
        "pool = futures.ThreadPoolExecutor(2)\ndef f():\n    ThreadPoolExecutor(2)"
    ) == ["ThreadPoolExecutor"]


# --- Kernels ---


def test_kernels_need_no_numpy_headers_and_no_openmp():
    kernels = [*(ROOT / "pyx").glob("*.pyx"), *(ROOT / "pyx").glob("*.pxd")]
    assert kernels
    for path in kernels:
        code = re.sub(r"#.*", "", path.read_text())
        assert not re.search(
            r"cimport\s+numpy|from\s+numpy|\bprange\b|cython\.parallel|openmp", code
        ), path.name
    build = (ROOT / "setup.py").read_text()
    assert "openmp" not in build
    assert "-march" not in build
    assert "-mtune" not in build


def test_kernels_take_the_lock_off():
    """Fleets are run by threads over ranges of units, so every public kernel releases the lock."""
    files = (ROOT / "pyx").glob("*.pyx")
    functions = {
        path.name: re.split(r"^def ", path.read_text(), flags=re.MULTILINE)[1:] for path in files
    }
    kernels = {
        name: [one for one in several if "[::1]" in one] for name, several in functions.items()
    }
    assert kernels and all(kernels.values())
    assert [
        one for several in kernels.values() for one in several if "with nogil:" not in one
    ] == []


def test_declaration_files_hold_no_bodies_that_would_be_shared():
    inline = r'ctypedef |cdef inline |cimport |from [\w.]+ cimport |"""'
    allowed = inline + r'|cdef (?:enum|struct \w+):|cdef extern from "\w+\.h"'
    lines = [
        line for path in (ROOT / "pyx").glob("*.pxd") for line in path.read_text().splitlines()
    ]
    top_level = [line for line in lines if re.match(r"[^\s#]", line)]
    assert top_level and [line for line in top_level if not re.match(allowed, line)] == []


def test_every_kernel_module_has_a_stub_and_comes_through_the_door():
    kernels = {path.stem for path in (ROOT / "pyx").glob("*.pyx")}
    assert kernels == {path.stem for path in (ROOT / "rmqalloc" / "_engine").glob("*.pyi")}
