"""The table of options that several verbs share: for each idea one flag, with one meaning in all of
them. Verbs make their options of it; the tables of docs/reference/options.md are made of it, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

from rmqalloc.cli._choices import Command
from rmqalloc.cli._sink import hand_over

OUTPUTS = ("table", "wide", "json", "jsonl", "yaml", "csv", "parquet", "md", "html")
"""Forms of a result, as `rmqalloc.report.write_table` has them."""


class Shared(NamedTuple):
    """An option that several verbs have."""

    flags: str
    metavar: str | None
    means: str


_INPUT = (
    Shared("-f --file", "FILE", "File to read"),
    Shared(
        "-n --name-server",
        "HOST:PORT[;...]",
        "Read the running cluster of these name servers; nothing is written. Default: "
        "environment variable NAMESRV_ADDR",
    ),
    Shared(
        "--context",
        "NAME",
        "Read this cluster of config.yaml (`rmqalloc context list`). Default: environment "
        "variable RMQALLOC_CONTEXT",
    ),
    Shared(
        "--acl-file",
        "FILE",
        "Read accessKey and secretKey from this file, in the format of RocketMQ's tools.yml. "
        "Default: environment variables RMQALLOC_ACCESS_KEY and RMQALLOC_SECRET_KEY",
    ),
    Shared("--tls", None, "Connect with TLS; a context names the certificates"),
    Shared(
        "--at",
        "TIME",
        "Read the cluster at this time from the history -f: HH:MM[:SS] of the last 24 hours, "
        "ISO 8601, or 2h ago",
    ),
    Shared(
        "-g --group",
        "GROUP",
        "Select consumer groups by name or by a pattern such as 'order*'; repeatable",
    ),
    Shared(
        "-t --topic", "TOPIC", "Select topics by name or by a pattern such as 'order*'; repeatable"
    ),
    Shared(
        "--allow-partial",
        None,
        "Continue and exit with 0 if a broker or client did not answer",
    ),
    Shared(
        "-s --strategy",
        "S",
        "Strategy that clients use now, such as CONSISTENT_HASH:160 or 'CANARY(share=0.05)'",
    ),
    Shared(
        "--require",
        "LEVEL",
        "Gate: least evidence for a strategy: reported by clients, fitted to known owners, "
        "or any, which includes strategies in doubt. Groups with less evidence are left out",
    ),
    Shared(
        "--rooms",
        "FILE",
        "Read machine rooms of brokers and clients from this YAML or JSON file (`rmqalloc "
        "schema rooms`)",
    ),
)

_RESULT = (
    Shared("-o --output", "FORM", "Format of the result"),
    Shared("--out", "PATH", "Write to this file or directory"),
    Shared("--show", "TABLE", "Table to show"),
    Shared("--columns", "NAME,...", "Show these columns"),
    Shared(
        "--sort", "[-]NAME,...", "Sort by these columns; - before a name puts the largest first"
    ),
    Shared(
        "--where",
        "CONDITION",
        "Show only rows that match, such as 'idle>0' or 'topic~order*' (= != < <= > >= ~); "
        "repeatable",
    ),
    Shared("--top", "N", "Show at most N rows"),
)

_OTHERS = (
    Shared("-c --client", "CLIENT", "Client id, host such as 10.0.0.1, or pattern"),
    Shared("--queue", "QUEUE", "Queue, such as 7, broker-a:7 or orders/broker-a:7"),
    Shared(
        "--to-strategy",
        "S",
        "Switch to this strategy, such as CONSISTENT_HASH:160 or 'CANARY(share=0.05)'",
    ),
    Shared("--set-queues", "N", "Give each broker N read queues"),
    Shared(
        "--scenario",
        "FILE",
        "Read scenarios from this YAML or JSON file (`rmqalloc schema scenarios`), or "
        "example:what-if",
    ),
    Shared(
        "--scenario-name", "NAME", "Scenario of the saved plan; required if the plan has several"
    ),
    Shared(
        "--max-unowned",
        "N",
        "Gate: most queues of a group that receive messages and have no reader at the worst moment",
    ),
    Shared(
        "--gates",
        "FILE",
        "Read gates from this YAML or JSON file instead (`rmqalloc schema gates`)",
    ),
    Shared(
        "--informed-by",
        "WAY",
        "How clients learn that a client joined or left: by the broker's notice, by their "
        "timer (notices are off or lost), by the broker's scan for missing heartbeats "
        "(silent death), or by notice of a crash, after which locks of an ordered group stay "
        "for up to 60 s",
    ),
    Shared("--detailed-exitcode", None, "Exit with 2 if there is a difference"),
    Shared("--every", "TIME", "Time between two readings"),
    Shared("--seed", "N", "Random seed; equal seeds give equal results"),
)

SHARED: Mapping[str, tuple[Shared, ...]] = {
    "What is read": _INPUT,
    "What is shown": _RESULT,
    "Others": _OTHERS,
}
"""All options that several verbs share, by the titles of their tables."""

_BY_NAME = {
    option.flags.rpartition("--")[2]: option for options in SHARED.values() for option in options
}


def option(
    name: str, into: str | None = None, more: str = "", **settings: Any
) -> Callable[[Command], Command]:
    """Return an option of the table.

    Parameters
    ----------
    name : str
        Its long flag, without dashes.
    into : str, optional
        The argument of the command, where it is not named like the flag.
    more : str
        What its help says besides.
    **settings
        Further arguments of `click.option`.
    """
    flags, metavar, means = _BY_NAME[name]
    declared = flags.split() if into is None else [*flags.split(), into]
    if metavar is None:
        settings["is_flag"] = True
    elif not isinstance(settings.get("type"), click.Choice):  # whose words the help lists
        settings["metavar"] = metavar
    return click.option(*declared, help=f"{means}{more}.", **settings)


def schema_option(
    what: str, schema: Callable[[], Mapping[str, Any]]
) -> Callable[[Command], Command]:
    """``--schema``: print the JSON Schema of ``what``, and end; it is made only when it is asked
    for.
    """

    def print_schema(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
        if wanted:
            hand_over(json.dumps(schema(), indent=2))
            ctx.exit()

    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_schema,
        help=f"Print the JSON Schema of {what}, and exit.",
    )


def file_to_write(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Return the name of a file to save besides what is printed; ``-`` is none, for the result goes
    there.
    """
    if name in ("", "-"):
        raise click.BadParameter(
            f"{name!r} is not a file: standard output carries the result; give a path", ctx, param
        )
    return name
