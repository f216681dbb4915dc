"""The same questions through the command line: ``plan`` and ``check`` with ``-o json``, files in
and text out.
"""

import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

from bruteforce import audited, mixed
from bruteforce.tables import KEYS, compared, of_scenario, tables
from rmqalloc.cli import main

NOTHING_TO_PLAN, GATE_OR_FINDING, NOT_KNOWN = 1, 2, 4


def invoke(document, *arguments, **files):
    """Exit code and standard output of a command on a snapshot; ``files`` are more files, by the
    option that names them.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, f"{name}.json") for name in ("file", *files)}
        for name, data in {"file": document, **files}.items():
            paths[name].write_text(json.dumps(data))
        options = [part for name, path in paths.items() for part in (f"--{name}", str(path))]
        with redirect_stdout(TextIOWrapper(BytesIO(), "utf-8")) as out, redirect_stderr(StringIO()):
            code = main([*arguments, *options, "-o", "json"])
            out.flush()
            return code, out.buffer.getvalue().decode()


def plan(case, tally):
    """All four tables, as JSON."""
    document = case["snapshot"]
    before = mixed.current(list(mixed.units_of(document, with_retry=case["with_retry"])), document)
    retry, rows = ["--with-retry"] if case["with_retry"] else [], {}
    for kind in KEYS:
        code, text = invoke(
            document, "plan", *retry, "--show", kind, scenario={"scenarios": case["scenarios"]}
        )
        if all(state.error for state in before):
            return  # the exit code of nothing to plan is another matter
        rows[kind] = json.loads(text)
        tally.same("command line plan exit code", kind, (0, NOTHING_TO_PLAN), code)
    for scenario in case["scenarios"]:
        expected = tables(before, mixed.behind(before, scenario), document)
        got = {kind: of_scenario(rows[kind], scenario["name"]) for kind in KEYS}
        compared(tally, "command line plan", expected, got)


def check(case, tally):
    """All findings of the rules that are modelled."""
    document = case["snapshot"]
    rules = [part for rule in audited.RULES for part in ("--rule", rule)]
    code, text = invoke(document, "check", *rules, "--fail-on", "note")
    expected = set(audited.findings(document, audited.RULES))
    got = set()
    for one in json.loads(text)["findings"]:
        queues = tuple(
            (queue["topic"], queue["broker_name"], queue["queue_id"]) for queue in one["queues"]
        )
        clients = (tuple(one["clients"]),) if one["rule"] in audited.WITH_CLIENTS else ()
        got.add((one["rule"], one["consumer_group"], one["topic"], queues, *clients))
    for rule in audited.RULES:
        mine = [{one for one in some if one[0] == rule} for some in (expected, got)]
        tally.same(f"command line check {rule}", "", *mine)
    is_lacking = any(not one["is_scope"] for one in json.loads(text)["not_known"])
    nothing = NOT_KNOWN if is_lacking else 0
    tally.same("command line check exit code", "", GATE_OR_FINDING if expected else nothing, code)
