"""Tests that `make test` leaves to `make test-all`, by area, short proofs, and the choice of those
that a change runs.

`make test` holds what finds much for its seconds, and CI runs all tests outside of the areas below.
These cost more, so CI runs them where a file that they depend on has changed. Short forms of proofs
are chosen in the same way: ``python -m areas`` prints the names of those, a line each.
"""

import subprocess
import sys
from typing import NamedTuple

from checkout import ROOT

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
        "rmqalloc/watching/guard/",
        "rmqalloc/service/",
    ),
    *("rmqalloc/client/", "tests/support/live_", "tests/support/wire_"),
)
_PAGE = "test_the_blocks_of_a_page_run_and_print_what_it_shows"
_OWNERS = "tests/integration/cluster/test_live_owners.py::test_owners_as_clients_join_leave_and_die"

AREAS = {
    "lint": Area(  # rules over the source: `make lint` runs them, and no change chooses them
        (),
        {
            "tests/house/test_layers.py": 20,
            "tests/house/test_security.py": 3,
            "tests/house/test_errors.py": 2,
        },
    ),
    "c": Area(
        ("pyx/", "setup.py", "tests/support/c", "proofs/fuzz/guided/"),
        {
            "tests/engine/test_sanitizers.py::test_under_sanitizers": 54,
            "tests/engine/test_fuzz_targets.py": 96,
            "tests/engine/test_portable_c.py": 19,
        },
    ),
    "brute force": Area(
        (
            *(
                "rmqalloc/ownership/",
                "rmqalloc/plans/",
                "rmqalloc/rollouts/",
                "rmqalloc/ownership/transitions/",
                "rmqalloc/plans/diffs/",
            ),
            *(
                "rmqalloc/audit/",
                "rmqalloc/evidence/views/",
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
    "java": Area(
        (
            *(
                "java/",
                "docs/reference/ordinal.md",
                "docs/reference/stable.md",
                "rmqalloc/strategies/",
                "tests/support/strategy_",
                "tests/support/java",
            ),
            *("tests/reference.py", "tests/data/golden.jsonl.gz"),
        ),
        {
            "tests/integration/java/test_java_strategies.py": 72,
            "tests/integration/java/test_java.py": 40,
            "tests/strategies/test_golden.py::test_the_reference_answers_every_case": 22,
        },
    ),
    "go": Area(
        (
            "go/",
            "docs/reference/ordinal.md",
            "docs/reference/stable.md",
            "rmqalloc/strategies/",
            "tests/support/go",
        ),
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
            f"tests/house/test_page_blocks.py::{_PAGE}[docs/": 150,
        },
    ),
    "recipes": Area(
        (
            *("CONTRIBUTING.md", "docs/contributors/recipes.md", "rmqalloc/strategies/"),
            *("rmqalloc/audit/", "rmqalloc/cli/", "rmqalloc/documents/", "rmqalloc/history/"),
        ),
        {"tests/house/test_recipes.py": 60},
    ),
    "screens": Area(
        ("rmqalloc/report/", "rmqalloc/results/"),
        {
            "tests/report/test_report_screens.py": 40,
            "tests/report/test_report_browser.py::test_a_screen_reader": 10,
        },
    ),
    "notebook": Area(
        ("docs/data/notebook.md", "examples/notebooks/", "tests/support/notebook_page.py"),
        {"tests/integration/spark/test_notebook.py": 52},
    ),
    "rocketmq": Area(
        (
            *(*_LIVE, "rmqalloc/evidence/views/", "rmqalloc/evidence/", "tests/support/live_java/"),
            "docs/authors/index.md",
        ),
        {
            "tests/integration/cluster/test_first_message.py": 30,
            _OWNERS: 60,
            "tests/integration/cluster/test_live_restarts.py": 86,
            "tests/integration/cluster/test_live_languages.py": 30,
            "tests/integration/cluster/test_live_evidence.py": 63,
            "tests/integration/cluster/test_live_views.py": 40,
            "tests/integration/cluster/test_live_changes.py": 30,
            "tests/integration/cluster/test_live_faults.py": 20,
            "tests/integration/cluster/test_live_logs.py": 60,
            "tests/integration/cluster/test_live_acl.py": 20,
            "tests/integration/cluster/test_live_server.py": 10,
            "tests/integration/cluster/test_live_settle.py": 15,
            "tests/integration/cluster/test_live_wire.py": 10,
            "tests/integration/cluster/test_live_guard.py": 20,
            "tests/integration/cluster/test_live_service.py": 20,
        },
    ),
    "spark jobs": Area(
        _SPARK,
        {
            "tests/integration/spark/test_spark_job.py": 75,
            "tests/integration/spark/test_live_plans.py": 35,
            "tests/integration/spark/test_spark_session.py::test_of_two_threads": 12,
            "tests/integration/spark/test_closed_form.py::test_owners_are": 35,
        },
    ),
    "spark cluster": Area(
        _SPARK,
        {
            "tests/integration/spark/test_spark_cluster.py": 246,
            "tests/integration/spark/test_spark_connect.py": 41,
        },
    ),
    "spark releases": Area(
        _SPARK,
        {
            "tests/integration/spark/test_spark_into_table.py::test_a_plan_in_delta_and_in_iceberg": 75,
            "tests/integration/spark/test_spark_versions.py::test_spark_3_5": 20,
            "tests/integration/spark/test_spark_versions.py::test_tables_are_planned": 40,
        },
    ),
    "proofs": Area(("proofs/", "benchmarks/movement/"), {"tests/proofs/": 40}),
    "project": Area(
        (".github/", "Makefile", "docs/project/", "tests/support/public_names.py"),
        {
            "tests/house/test_workflows.py": 3,
            "tests/house/test_sdist.py": 3,
        },
    ),
}

PROOFS = {
    name: Area((f"proofs/{name}/", "proofs/proof.py", *causes), {name: seconds})
    for name, seconds, causes in (
        ("bruteforce", 20, ("rmqalloc/plans/", "rmqalloc/audit/", "rmqalloc/rollouts/advice/")),
        (
            "differential",
            100,
            ("rmqalloc/rebalance/", "rmqalloc/broker/", "tests/data/conformance/"),
        ),
        ("chaos", 40, ("rmqalloc/simulation/", "rmqalloc/rebalance/")),
        ("clusters", 35, ("rmqalloc/remoting/", "rmqalloc/snapshot/live/")),
        ("fuzz", 30, ("rmqalloc/documents/", "rmqalloc/history/", "rmqalloc/remoting/")),
        (
            "spark",
            220,
            ("spark_udfs/job/", "rmqalloc/documents/store/", "rmqalloc/evaluation/unit_files.py"),
        ),
        ("platforms", 160, ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "NOTICE")),
        ("mutation", 200, ("tests/support/areas.py",)),
    )
}
"""Programs of `make proof` in their short form."""


def area_of(test: str) -> str | None:
    """Return the area of a test, or None for one that `make test` runs.

    >>> area_of("tests/engine/test_sanitizers.py::test_under_sanitizers[ring]")
    'c'
    """
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
    left_out: list[str]
    """What is touched and does not fit into the budget."""

    def __contains__(self, test: str) -> bool:
        return test.startswith(tuple(self.touched))


def choose(changed: list[str], budget: float = BUDGET, table: dict[str, Area] = AREAS) -> Choice:
    """Choose tests of areas, or proofs, for changed files, the cheapest first.

    >>> list(choose(["docs/operators/change.md"]).touched)[:1]
    ['tests/house/test_typing.py']
    >>> choose(["LICENSE"])
    Choice(touched={}, left_out=[])
    """
    costs = {
        (cost, start): area
        for area in table.values()
        if area.touched_by
        for start, cost in area.seconds.items()
    }
    choice = Choice({}, [])
    for (cost, start), area in sorted(costs.items(), key=lambda item: item[0]):
        causes = (*area.touched_by, *EVERYTHING, start.partition("::")[0])
        touching = [path for path in changed if path.startswith(causes)]
        if touching and cost <= budget:
            choice.touched[start] = touching[0]
            budget -= cost
        elif touching:
            choice.left_out.append(start)
    return choice


def git(*arguments: str) -> str | None:
    """What git prints, or None where it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def changed_files() -> list[str]:
    """Files that differ between HEAD and where it left origin/main, or its parent on main.

    Without a base, as in a shallow clone, a file that touches everything stands for all.
    """
    base = git("merge-base", "HEAD", "origin/main")
    if base is None or base == git("rev-parse", "HEAD"):
        base = git("rev-parse", "--verify", "--quiet", "HEAD^")
    if base is None:
        return ["pyproject.toml"]
    names = git("diff", "--name-only", "--no-renames", base, "HEAD")
    return names.splitlines() if names else []


if __name__ == "__main__":
    chosen = choose(changed_files(), PROOFS_BUDGET, PROOFS)
    for name in chosen.left_out:
        print(f"{name}: touched, but over the budget of CI", file=sys.stderr)
    print("\n".join(chosen.touched))
