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
    Shared("-f --file", "FILE", "The file to read"),
    Shared(
        "-n --name-server",
        "HOST:PORT[;...]",
        "Name servers of a running cluster, which is only read; NAMESRV_ADDR of the "
        "environment by default",
    ),
    Shared(
        "--context",
        "NAME",
        "A cluster of config.yaml (`rmqalloc context list`) instead of -n; "
        "RMQALLOC_CONTEXT of the environment by default",
    ),
    Shared(
        "--acl-file",
        "FILE",
        "File with accessKey and secretKey, as RocketMQ's tools.yml; "
        "RMQALLOC_ACCESS_KEY and RMQALLOC_SECRET_KEY of the "
        "environment by default",
    ),
    Shared("--tls", None, "Speak TLS; a context names the certificates"),
    Shared(
        "--at",
        "TIME",
        "The cluster as the history of -f has it at a moment: HH:MM[:SS] of the last "
        "24 hours, ISO 8601, or 2h ago",
    ),
    Shared(
        "-g --group", "GROUP", "Consumer groups by name, or by a pattern such as 'order*'; repeats"
    ),
    Shared("-t --topic", "TOPIC", "Topics by name, or by a pattern such as 'order*'; repeats"),
    Shared(
        "--allow-partial",
        None,
        "Go on, and end with 0, although some broker or client did not answer",
    ),
    Shared(
        "-s --strategy",
        "S",
        "The strategy that clients use now, such as CONSISTENT_HASH:160 or 'CANARY(share=0.05)'",
    ),
    Shared(
        "--require",
        "LEVEL",
        "Gate: what strategies must rest on: reported by clients, fitted to what they"
        " own, or any, which accepts those in doubt "
        "too; groups with less are left out",
    ),
    Shared(
        "--rooms",
        "FILE",
        "Machine rooms of brokers and clients from a YAML or JSON file (`rmqalloc schema rooms`)",
    ),
)

_RESULT = (
    Shared("-o --output", "FORM", "Form of the result"),
    Shared("--out", "PATH", "The file or directory to write"),
    Shared("--show", "TABLE", "Which table"),
    Shared("--columns", "NAME,...", "Columns of the table"),
    Shared("--sort", "[-]NAME,...", "Columns to sort by; - before a name: the largest first"),
    Shared(
        "--where",
        "CONDITION",
        "Only rows such as 'idle>0' or 'topic~order*'; = != < <= > >= ~; repeats",
    ),
    Shared("--top", "N", "At most N rows"),
)

_OTHERS = (
    Shared(
        "-c --client", "CLIENT", "A client: its id, a host such as 10.0.0.1, or a pattern of these"
    ),
    Shared("--queue", "QUEUE", "A queue, such as 7, broker-a:7 or orders/broker-a:7"),
    Shared(
        "--to-strategy",
        "S",
        "The strategy to come, such as CONSISTENT_HASH:160 or 'CANARY(share=0.05)'",
    ),
    Shared("--set-queues", "N", "N read queues on each broker"),
    Shared(
        "--scenario",
        "FILE",
        "YAML or JSON file of scenarios (`rmqalloc schema scenarios`), or example:what-if",
    ),
    Shared(
        "--scenario-name", "NAME", "Scenario of the saved plan; not needed where there is just one"
    ),
    Shared(
        "--max-unowned",
        "N",
        "Gate: most queues of a group that producers write to and nobody reads at the worst moment",
    ),
    Shared("--gates", "FILE", "Gates from a YAML or JSON file instead (`rmqalloc schema gates`)"),
    Shared(
        "--informed-by",
        "WAY",
        "How clients learn that others joined or left: by the broker's notice, at "
        "their next pass (notices are off or lost), "
        "when a broker misses the heartbeats of a client that died in silence, or by "
        "notice of a client that was killed, whose "
        "locks of an ordered group's queues stay for up to 60 s",
    ),
    Shared("--detailed-exitcode", None, "End with 2 if there is a difference"),
    Shared("--every", "TIME", "Time between two readings"),
    Shared("--seed", "N", "Equal seeds give equal results"),
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
        help=f"Print the JSON Schema of {what}, and end.",
    )


def file_to_write(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Return the name of a file to save besides what is printed; ``-`` is none, for the result goes
    there.
    """
    if name in ("", "-"):
        raise click.BadParameter(
            f"{name!r} is not a file; standard output is for the result", ctx, param
        )
    return name
