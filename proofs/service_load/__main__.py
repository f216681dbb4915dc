"""Ask one service by 200 readers at once: ``python -m service_load [--quick] [--readers N]
[--seconds S] [--report FILE]``.

The readers and the service are on this machine, on loopback. Ends with 1 if an answer is an error.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import tied

from rmqalloc.snapshot.plain_data import to_document
from service_load.made_cluster import made_cluster
from service_load.readers import PATHS, read_all

HEAD = """# Many readers of one service

`make evidence`. A snapshot file of made groups (16 queues and 4 clients each, with lags and what clients own) is served by
`rmqalloc serve -f`, which reads it again every 10 s meanwhile. Readers on the same machine ask over loopback, each over one
connection, one path after the other without a pause. An answer that is not 200 is an error.
"""


def main():
    parser = argparse.ArgumentParser(prog="service_load", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 seconds")
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    seconds = 10.0 if given.quick else given.seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(to_document(made_cluster(given.groups))), encoding="utf-8")
        with serving(path) as (program, port):
            before = resident(port)
            waited = asyncio.run(read_all(port, given.readers, given.groups, seconds))
            after = resident(port)
            program.send_signal(signal.SIGTERM)
            began, code = time.monotonic(), program.wait(30)
            ended = time.monotonic() - began
    n = sum(map(len, waited.seconds.values()))
    wrong = "".join(f"; {what} × {times}" for what, times in waited.errors.items())
    lines = [
        *table(waited),
        "",
        f"{given.readers} readers, {given.groups:,} groups, {seconds:g} s: {n:,} answers, {n / seconds:,.0f} a second; "
        f"errors: {waited.errors.total()}{wrong}.",
        f"Resident memory of the service: {before >> 20} MiB before, {after >> 20} MiB after. "
        f"After SIGTERM it ended with {code} in {ended:.1f} s.",
    ]
    print("\n".join(lines))
    if given.report:
        Path(given.report).write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return int(waited.errors.total() > 0 or code != 0 or set(waited.seconds) != set(PATHS))


def table(waited):
    """A line for each path: answers, median, 99 of 100, longest."""
    yield "| path | answers | p50 ms | p99 ms | longest ms |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    every = [one for some in waited.seconds.values() for one in some]
    for kind, some in [*sorted(waited.seconds.items()), ("all", every)]:
        ordered = sorted(some)
        figures = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1])
        yield f"| `{kind}` | {len(ordered):,} | {' | '.join(f'{1000 * one:,.0f}' for one in figures)} |"


@contextlib.contextmanager
def serving(path):
    """The service of a file, once it is ready, and its port."""
    command = [
        sys.executable,
        "-m",
        "rmqalloc",
        "serve",
        "-f",
        str(path),
        "--port",
        "0",
        "--every",
        "10s",
    ]
    program = tied.popen(command, stderr=subprocess.PIPE, text=True)
    try:
        port = int(program.stderr.readline().partition("http://127.0.0.1:")[2].partition("/")[0])
        for _ in range(600):
            with contextlib.suppress(OSError):
                got(port, "/readyz")
                break
            time.sleep(0.1)
        yield program, port
    finally:
        program.kill()
        program.communicate()


def got(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read()


def resident(port):
    """Bytes of memory that the service has, as it says itself."""
    [line] = [
        one
        for one in got(port, "/metrics").splitlines()
        if one.startswith(b"process_resident_memory_bytes ")
    ]
    return int(float(line.split()[1]))


if __name__ == "__main__":
    sys.exit(main())
