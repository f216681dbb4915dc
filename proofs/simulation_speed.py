"""Where the time of a large simulation goes: ``python -m simulation_speed [--quick] [--clients N]
[--report FILE]``.

A group on ten queues per client is restarted, once concurrent and once ordered. Calls of Python
functions are counted, which is the same on a busy machine too, within half a percent. `BEFORE` and
`TABLES_BEFORE` hold what this program saw of the same scripts when every look was at every read
(commit 2dcd9fe; ``--tables`` wrote them). Ends with 1 if a form needs more calls than
`MOST_OF_BEFORE` of those.
"""

import argparse
import cProfile
import pstats
import time
from pathlib import Path

from checkout import DATA

from rmqalloc.simulation import Script, simulate

CLIENTS = 20
TABLES_BEFORE = DATA / "simulation-speed-before.md"
BEFORE = {"concurrent": 2_204_278, "ordered": 7_597_684}
MOST_OF_BEFORE = 0.75
MOST_ROWS = 25


def script(clients, ordered):
    """A rolling restart of all clients, a fiftieth at a time."""
    restart = {"group": "payments", "batch": max(1, clients // 50), "every": "10s", "down": "5s"}
    group = {
        "name": "payments",
        "topics": "orders",
        "clients": clients,
        "ordered": ordered,
        "listener_time": "300ms",
    }
    return Script.of(
        {
            "duration": "10m",
            "brokers": ["broker-a", "broker-b", "broker-c", "broker-d"],
            "topics": [{"name": "orders", "read_queue_nums": clients * 10 // 4}],
            "groups": [group],
            "events": [{"at": "60s", "restart": restart}],
            "profile": "5.3",
        }
    )


def profiled(clients, ordered):
    """Calls of functions in all, seconds of CPU without the profiler, and the profile."""
    began = time.process_time()
    simulate(script(clients, ordered))
    seconds = time.process_time() - began
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(simulate, script(clients, ordered))
    stats = pstats.Stats(profiler)
    return stats.total_calls, seconds, stats


def rows(stats):
    """The functions with most time of their own, as rows of a table."""
    own = sorted(stats.stats.items(), key=lambda item: -item[1][2])
    total = sum(item[2] for item in stats.stats.values())
    for (file, _, name), (_, n_calls, seconds, _, _) in own[:MOST_ROWS]:
        place = file.rpartition("/rmqalloc/")[2] if "/rmqalloc/" in file else Path(file).name
        function = name.strip("<>") if file == "~" else f"{place} {name}"
        yield f"| `{function}` | {n_calls:,} | {seconds / total:.1%} |"


def measured(clients, forms):
    """Rows of the summary, the profile of each form as a table, and the forms that need too many
    calls.
    """
    summary, tables, slow = [], [], []
    for form in forms:
        n_calls, seconds, stats = profiled(clients, form == "ordered")
        before = BEFORE[form] if clients == CLIENTS else 0
        ratio = (
            f"{before:,} | {n_calls:,} | {before / n_calls:.2f}"
            if before
            else f"– | {n_calls:,} | –"
        )
        summary.append(f"| {form} | {ratio} | {seconds:.1f} s |")
        slow += [form] * bool(before and n_calls > MOST_OF_BEFORE * before)
        head = (
            f"### {form.capitalize()}",
            "",
            "| function | calls | own time |",
            "| --- | ---: | ---: |",
        )
        tables += [*head, *rows(stats), ""]
    return summary, tables, slow


def page(summary, tables, clients):
    """The report."""
    before = (
        ["## Profile before", "", TABLES_BEFORE.read_text(encoding="utf-8")]
        if clients == CLIENTS
        else []
    )
    lines = [
        "# Speed of the simulation",
        "",
        f"{clients} clients on {clients * 10:,} queues, ten virtual minutes, a rolling restart of all clients; made by",
        "`PYTHONPATH=proofs:tests:tests/support python -m simulation_speed --report build/evidence/simulation.md`. Equal",
        "answers are held by `tests/simulation/test_simulation_twin.py`. Seconds are of a busy machine",
        "and say little; calls repeat within half a percent.",
        "",
        "| form | calls before | calls now | before / now | CPU now |",
        "| --- | ---: | ---: | ---: | ---: |",
        *summary,
        "",
        "## Profile now",
        "",
        *tables,
        *before,
    ]
    return "\n".join(lines).strip() + "\n"


def main():
    """Print or write the report; 1 if the simulation became slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--quick", action="store_true", help="the concurrent form alone")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--tables", type=Path, help="where to write the profiles alone")
    arguments = parser.parse_args()
    summary, tables, slow = measured(
        arguments.clients, ["concurrent"] if arguments.quick else [*BEFORE]
    )
    text = page(summary, tables, arguments.clients)
    print(text)
    if arguments.report:
        arguments.report.write_text(text, encoding="utf-8")
    if arguments.tables:
        arguments.tables.write_text("\n".join(tables).strip() + "\n", encoding="utf-8")
    for form in slow:
        print(f"{form}: more calls than {MOST_OF_BEFORE:.0%} of those before")
    return int(bool(slow))


if __name__ == "__main__":
    raise SystemExit(main())
