"""Tests that `make test` leaves to `make test-all`, by area, short proofs, and the choice of those
that a change runs.

`make test` holds what finds much for its seconds, and CI runs all tests outside of the areas below.
These cost more, so they run where a file that they depend on has changed, and in turn: every commit
runs about an eighth of the rest. The commit's name decides which eighth, so the choice is a pure
function of the base and the commit. Short forms of proofs are chosen in the same way: ``python -m
areas`` prints the names of those for the commit that is checked out, a line each.
"""

import sys
from collections.abc import Iterable
from typing import NamedTuple

import changed_files

TURNS = 8
BUDGET, PROOFS_BUDGET = 400, 240
"""CPU seconds of tests of areas, and of proofs, that one run of CI takes at most; what does not fit is named."""

EVERYTHING = (
    *("pyx/", "setup.py", "rmqalloc/_engine/", "rmqalloc/fleet/", "rmqalloc/model.py"),
    *("pyproject.toml", "tests/conftest.py", "tests/support/areas.py", "tests/support/cache.py"),
)
"""A change of one of these touches every area."""


class Area(NamedTuple):
    """Tests that belong together."""

    touched_by: tuple[str, ...]
    """Beginnings of paths; a change of the tests themselves counts, too."""
    seconds: dict[str, int]
    """Beginnings of the tests' ids, and the CPU seconds of all that begin so."""


_SPARK = ("spark_udfs/", "rmqalloc/evaluation/", "tests/support/spark_")
_LIVE = (
    *(
        "rmqalloc/remoting/",
        "rmqalloc/snapshot/live/",
        "rmqalloc/guard/",
        "rmqalloc/service/",
        "rmqalloc/client/",
    ),
    *("tests/support/live_", "tests/support/wire_"),
)
_PAGE = "test_the_blocks_of_a_page_run_and_print_what_it_shows"
_OWNERS = "tests/snapshot/test_live_owners.py::test_owners_as_clients_join_leave_and_die"
_DEAR_PAGES = {
    "docs/commands.md": 7,
    "docs/data-engineer.md": 8,
    "docs/live-plans.md": 20,
    "docs/spark.md": 10,
    "docs/spark-sql.md": 20,
}

AREAS = {
    "lint": Area(  # rules over the source: `make lint` runs them, and no change chooses them
        (),
        {
            "tests/house/test_layers.py": 20,
            "tests/house/test_security.py": 3,
            "tests/house/test_strategy_names.py": 2,
            "tests/house/test_errors.py": 2,
            "tests/house/test_voice.py": 3,
        },
    ),
    "c": Area(
        (
            "pyx/",
            "setup.py",
            "tests/support/c/",
            "tests/support/c_programs.py",
            "proofs/fuzz/guided/",
        ),
        {
            "tests/engine/test_sanitizers.py::test_under_sanitizers[md5]": 40,
            "tests/engine/test_sanitizers.py::test_under_sanitizers[preferences]": 5,
            "tests/engine/test_sanitizers.py::test_under_sanitizers[strings]": 6,
            "tests/engine/test_fuzz_targets.py": 96,
            "tests/engine/test_portable_c.py": 19,
            "tests/engine/test_sanitizers.py::test_under_sanitizers[ring]": 3,
        },
    ),
    "brute force": Area(
        (
            *(
                "rmqalloc/ownership/",
                "rmqalloc/plans/",
                "rmqalloc/rollouts/",
                "rmqalloc/transitions/",
                "rmqalloc/diffs/",
            ),
            *(
                "rmqalloc/audit/",
                "rmqalloc/views/",
                "rmqalloc/evidence/",
                "rmqalloc/evaluation/",
                "rmqalloc/scenarios/",
            ),
            *("rmqalloc/strategies/", "proofs/bruteforce/"),
        ),
        {
            "tests/plans/test_bruteforce.py::test_no_answer_differs": 18,
            "tests/rollouts/test_rollout_written.py::test_what_is_written_is_that_of_the_brokers": 16,
        },
    ),
    "promises": Area(
        ("rmqalloc/strategies/", "tests/reference"),
        {"tests/strategies/test_promises.py::test_p5_the_order_before_the_sort_is_forgotten": 8},
    ),
    "solver": Area(
        (
            "rmqalloc/strategies/ordinal",
            "rmqalloc/strategies/_ordinal",
            "tests/support/order_tables.py",
        ),
        {"tests/strategies/test_order_tables.py": 51},
    ),
    "java": Area(
        (
            *(
                "java/",
                "docs/strategies/",
                "rmqalloc/strategies/",
                "tests/support/strategy_",
                "tests/support/java",
            ),
            *("tests/reference.py", "tests/data/golden.jsonl.gz"),
        ),
        {
            "tests/strategies/test_java_strategies.py": 72,
            "tests/strategies/test_java.py": 40,
            "tests/strategies/test_golden.py::test_the_reference_answers_every_case": 22,
        },
    ),
    "go": Area(
        ("go/", "docs/strategies/", "rmqalloc/strategies/", "tests/support/go"),
        {"tests/strategies/test_go.py": 56, "tests/strategies/test_go_strategies.py": 20},
    ),
    "differential": Area(
        (
            "rmqalloc/rebalance/",
            "rmqalloc/broker/",
            "proofs/differential/",
            "tests/support/java/differential/",
        ),
        {"tests/rebalance/test_differential.py": 72},
    ),
    "pages": Area(
        ("docs/", "README.md", "rmqalloc/cli/", "rmqalloc/report/", "tests/support/page_blocks.py"),
        {
            "tests/house/test_typing.py": 24,
            "tests/house/test_page_blocks.py::test_a_page_leaves_no_view_and_no_setting_behind": 15,
            f"tests/house/test_page_blocks.py::{_PAGE}[docs/": 25,
            **{
                f"tests/house/test_page_blocks.py::{_PAGE}[{page}": cost
                for page, cost in _DEAR_PAGES.items()
            },
        },
    ),
    "screens": Area(
        ("rmqalloc/report/", "rmqalloc/results/"),
        {
            "tests/report/test_report_screens.py": 40,
            "tests/report/test_report_browser.py::test_a_screen_reader": 10,
        },
    ),
    "notebook": Area(
        ("docs/notebook.md", "examples/notebooks/", "tests/support/notebook_page.py"),
        {"tests/spark/test_notebook.py": 52},
    ),
    "rocketmq": Area(
        (*_LIVE, "rmqalloc/views/", "rmqalloc/evidence/", "tests/support/live_java/"),
        {
            **{
                f"{_OWNERS}[{group}]": 12
                for group in ("circle", "pull", "room", "nearby", "config")
            },
            "tests/snapshot/test_live_restarts.py": 86,
            "tests/snapshot/test_live_languages.py": 30,
            "tests/snapshot/test_live_evidence.py": 63,
            "tests/snapshot/test_live_views.py": 40,
            "tests/snapshot/test_live_changes.py": 30,
            "tests/snapshot/test_live_faults.py": 20,
            "tests/snapshot/test_live_acl.py": 20,
            "tests/snapshot/test_live_server.py": 10,
            "tests/snapshot/test_live_settle.py": 15,
            "tests/snapshot/test_live_wire.py": 10,
            "tests/guard/test_live_guard.py": 20,
            "tests/service/test_live_service.py": 20,
        },
    ),
    "left behind": Area(
        tuple(
            f"tests/support/{name}.py"
            for name in ("tied", "chromium", "spark_standalone", "live_cluster")
        ),
        {"tests/house/test_left_behind.py": 90},
    ),
    "spark jobs": Area(
        _SPARK,
        {
            "tests/spark/test_spark_job.py": 75,
            "tests/spark/test_datasource.py": 23,
            "tests/spark/test_live_stream.py": 35,
            "tests/spark/test_live_groups.py::test_any_order_and_any_batches": 10,
            "tests/spark/test_spark_session.py::test_of_two_threads": 12,
            "tests/spark/test_closed_form.py::test_owners_are": 35,
            "tests/spark/test_closed_form.py::test_moved_is": 10,
        },
    ),
    "spark cluster": Area(
        _SPARK,
        {
            "tests/spark/test_spark_cluster.py": 246,
            "tests/spark/test_spark_connect.py": 41,
            "tests/spark/test_spark_sql_server.py": 40,
        },
    ),
    "spark releases": Area(
        _SPARK,
        {
            "tests/spark/test_live_stream.py::test_killed_it_loses": 40,
            "tests/spark/test_live_stream.py::test_killed_again_and_again_on_every_release_with_tables[3.5": 110,
            "tests/spark/test_live_stream.py::test_killed_again_and_again_on_every_release_with_tables[4.1-delta": 160,
            "tests/spark/test_live_stream.py::test_killed_again_and_again_on_every_release_with_tables[4.1-iceberg": 140,
            "tests/spark/test_live_stream.py::test_killed_again_and_again_on_every_release_with_tables[4.3": 100,
            "tests/spark/test_spark_into_table.py::test_a_plan_in_delta_and_in_iceberg": 75,
            "tests/spark/test_spark_versions.py::test_spark_3_5": 20,
            "tests/spark/test_spark_versions.py::test_tables_are_planned": 40,
        },
    ),
    "proofs": Area(("proofs/", "benchmarks/movement/"), {"tests/proofs/": 40}),
    "project": Area(
        (".github/", "Makefile", "docs/project/", "tests/support/public_names.py"),
        {
            "tests/house/test_workflows.py": 3,
            "tests/house/test_papers.py": 3,
            "tests/house/test_sdist.py": 3,
        },
    ),
}


PROOFS = {
    name: Area((f"proofs/{name}/", "proofs/proof.py", *causes), {name: seconds})
    for name, seconds, causes in (
        ("bruteforce", 20, ("rmqalloc/plans/", "rmqalloc/audit/", "rmqalloc/advice/")),
        (
            "differential",
            100,
            ("rmqalloc/rebalance/", "rmqalloc/broker/", "tests/data/conformance/"),
        ),
        ("chaos", 40, ("rmqalloc/simulation/", "rmqalloc/rebalance/")),
        ("clusters", 35, ("rmqalloc/remoting/", "rmqalloc/snapshot/live/")),
        ("fuzz", 20, ("rmqalloc/documents/", "rmqalloc/remoting/")),
        ("spark", 220, ("spark_udfs/job/", "rmqalloc/store/", "rmqalloc/evaluation/unit_files.py")),
        ("platforms", 160, ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "NOTICE")),
        ("mutation", 200, ("tests/support/areas.py",)),
    )
}
"""What `make proof NAME=... QUICK=1` runs, with the CPU seconds of each."""


def area_of(test: str) -> str | None:
    """Return the area of a test, or None for one that `make test` runs."""
    fits = [
        (len(start), name)
        for name, area in AREAS.items()
        for start in area.seconds
        if test.startswith(start)
    ]
    return max(fits)[1] if fits else None


class Choice(NamedTuple):
    """Which tests of areas a change runs, by the beginnings of their ids."""

    touched: dict[str, str]
    """What a changed file touches, and that file."""
    in_turn: list[str]
    """What runs because it is its turn."""
    left_out: list[str]
    """What is touched and does not fit into the budget."""

    def all(self) -> list[str]:
        """List what runs."""
        return [*self.touched, *self.in_turn]

    def __contains__(self, test: str) -> bool:
        return test.startswith(tuple(self.all()))


def choose(
    changed: Iterable[str] | None, head: str, budget: float = BUDGET, table: dict[str, Area] = AREAS
) -> Choice:
    """Choose tests of areas, or proofs, for a change.

    Parameters
    ----------
    changed : iterable of str, or None
        Paths of the files that differ from the base; None if there is no base, which touches
        everything.
    head : str
        The commit's name in hexadecimal digits; its turn among the eighths follows from it.
    budget : float
        CPU seconds at most.
    table : dict
        `AREAS` or `PROOFS`.

    Returns
    -------
    Choice
        Cheap tests come first where not all that is touched fits.
    """
    paths = ["pyproject.toml"] if changed is None else list(changed)
    costs = {
        start: cost
        for area in table.values()
        if area.touched_by
        for start, cost in area.seconds.items()
    }
    reasons = {start: why for start in costs if (why := _touching(start, paths, table))}
    touched, left_out = _within(budget, sorted(reasons, key=costs.__getitem__), costs)
    rest = [start for start in costs if start not in reasons]
    turn = int(head[:8], 16) % TURNS
    in_turn, _ = _within(
        budget - sum(costs[start] for start in touched), _part(rest, costs, turn), costs
    )
    return Choice({start: reasons[start] for start in touched}, in_turn, left_out)


def _touching(start: str, paths: list[str], table: dict[str, Area]) -> str:
    """Return the first changed file that touches tests, or an empty text."""
    area = next(area for area in table.values() if start in area.seconds)
    causes = (*area.touched_by, *EVERYTHING, start.partition("::")[0])
    return next((path for path in paths if path.startswith(causes)), "")


def _within(budget: float, starts: list[str], costs: dict[str, int]) -> tuple[list[str], list[str]]:
    """Split tests into those that fit into a budget, in their order, and the others."""
    fitting: list[str] = []
    for start in starts:
        if costs[start] <= budget:
            fitting.append(start)
            budget -= costs[start]
    return fitting, [start for start in starts if start not in fitting]


def _part(starts: list[str], costs: dict[str, int], turn: int) -> list[str]:
    """Return one of `TURNS` parts that cost about the same: the dearest first, each to the part
    that has least.
    """
    parts: list[list[str]] = [[] for _ in range(TURNS)]
    for start in sorted(starts, key=lambda one: (-costs[one], one)):
        min(parts, key=lambda part: sum(costs[one] for one in part)).append(start)
    return parts[turn]


def main() -> int:
    """Print the short proofs for the commit that is checked out, and why on standard error."""
    head = changed_files.git("rev-parse", "HEAD")
    chosen = choose(changed_files.changed(changed_files.base()), head, PROOFS_BUDGET, PROOFS)
    for name, path in chosen.touched.items():
        print(f"{name}: touched by {path}", file=sys.stderr)
    for name in chosen.in_turn:
        print(f"{name}: in turn", file=sys.stderr)
    for name in chosen.left_out:
        print(
            f"{name}: touched, but over the budget of {PROOFS_BUDGET} CPU s",
            file=sys.stderr,
        )
    print(*chosen.all(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
