"""What all verbs have in common: help in sections, options that are given once, and variables of the
environment, with a warning about all others of our name.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping

import click

from rmqalloc.cli._help_sections import write_options
from rmqalloc.cli._sink import tell
from rmqalloc.documents import STDIN
from rmqalloc.text import counted, nearest

__all__ = ["CONTEXT", "HISTORY", "PREFIX", "VARIABLES", "Verb"]

PREFIX = "RMQALLOC_"

CONTEXT = "RMQALLOC_CONTEXT"
HISTORY = "RMQALLOC_HISTORY"

VARIABLES: Mapping[str, str] = {
    "NAMESRV_ADDR": "name servers of the cluster to read, as for RocketMQ's tools; -n overrides it",
    "RMQALLOC_ACCESS_KEY": "access key of the cluster; --acl-file overrides it",
    "RMQALLOC_SECRET_KEY": "secret key of the cluster",
    "RMQALLOC_SECURITY_TOKEN": "security token, if the cluster requires it",
    CONTEXT: "cluster of config.yaml to read; --context overrides it",
    HISTORY: "history to read if --at, --since or --until is given without -f",
    "RMQALLOC_THREADS": "threads of strategies, default 1",
    "NO_COLOR": "turn colours off",
    "FORCE_COLOR": "use colours in a pipe as well",
    "RMQALLOC_ISA": "instruction set to use: plain, scalar, avx2, avx512 or neon",
    "_RMQALLOC_COMPLETE": "set by the scripts of rmqalloc completion",
    "RMQALLOC_CACHE": "building and tests: cache directory",
    "RMQALLOC_DEBUG": "building: 1 adds bounds checks",
    "RMQALLOC_GO_CASES": "tests: cases to compare with client-go",
    "RMQALLOC_LIVE_LONG": "tests: more groups on a running cluster",
    "RMQALLOC_SEED": "tests: seed of random cases",
    "RMQALLOC_TEST_CONNECT": "tests: use Spark Connect",
    "RMQALLOC_WHEEL_OF": "tests: checkout whose wheel is tested",
}
"""Variables that are read, and what each is for."""

_OF_KUBERNETES = rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
"""What Kubernetes sets in every pod for a service called rmqalloc or rmqalloc-something."""

_MOST_SAID = 10


class Verb(click.Command):
    """A command whose help is in sections, that refuses options and standard input given twice, and
    that warns of variables that nothing reads.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        _warn_of_unknown()
        self._refuse_repeated(ctx, list(args))
        left = super().parse_args(ctx, args)
        self._refuse_shared_input(ctx)
        return left

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse an option that is given twice and is no list: which of the values counts would be a
        guess. A flag that only switches on may be repeated.
        """
        _, _, in_order = self.make_parser(ctx).parse_args(args)
        if any(param.is_eager for param in in_order):  # help, which is printed all the same
            return
        for param, n_times in Counter(in_order).items():
            if n_times > 1 and _is_single(param):
                ctx.fail(f"{_flag(param)} is given {n_times} times; give it once")

    def _refuse_shared_input(self, ctx: click.Context) -> None:
        """Refuse two parameters that are standard input, which can be read once."""
        shared = [
            _flag(param)
            for param in self.get_params(ctx)
            for value in _values(ctx.params.get(param.name or ""))
            if value == STDIN and _is_read(param)
        ]
        if len(shared) > 1:
            names = " and ".join(dict.fromkeys(shared))
            ctx.fail(
                f"{names}: standard input is given {len(shared)} times and can be read only "
                "once; give a file instead"
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections."""
        write_options(self, ctx, formatter)


def _is_single(param: click.Parameter) -> bool:
    """Return whether a parameter takes one value, or is a flag that switches on and off."""
    if not isinstance(param, click.Option) or param.multiple or param.count:
        return False
    return not param.is_flag or bool(param.secondary_opts)


def _is_read(param: click.Parameter) -> bool:
    """Return whether a parameter names a file that is read."""
    return isinstance(param, click.Argument) or param.metavar == "FILE"


def _flag(param: click.Parameter) -> str:
    """Return what to call a parameter: the long flag, with the one that switches it off, or the name
    of an argument.
    """
    if isinstance(param, click.Argument):
        return (param.metavar or param.human_readable_name).strip("[].")
    return "/".join(max(flags, key=len) for flags in (param.opts, param.secondary_opts) if flags)


def _values(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _warn_of_unknown() -> None:
    """Warn of variables of our name that are not in the table; their values are not shown."""
    unknown = sorted(filter(_is_unknown, os.environ))
    for name in unknown[:_MOST_SAID]:
        tell("warning", f"the variable {name} is unknown and has no effect{_meant(name)}")
    if len(unknown) > _MOST_SAID:
        tell("warning", f"{counted(len(unknown) - _MOST_SAID, 'more unknown variable')}")


def _is_unknown(name: str) -> bool:
    is_ours = name.startswith(PREFIX) and name not in VARIABLES and bool(os.environ[name])
    return is_ours and re.fullmatch(_OF_KUBERNETES, name) is None


def _meant(name: str) -> str:
    """Return the likely name; what all names begin with makes any two alike, and is left out."""
    ends = [known.removeprefix(PREFIX) for known in VARIABLES if known.startswith(PREFIX)]
    near = nearest(name.removeprefix(PREFIX), ends, 1)
    return f"; did you mean {PREFIX}{near[0]}?" if near else ""
