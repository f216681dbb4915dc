"""Variables of the environment: the option that each of them sets, and warnings about those that
set none.

An option takes the variable RMQALLOC_<VERB>_<FLAG>, after its long flags. click's own names
(``auto_envvar_prefix``) are off: they come from Python parameters, and reach ``--help`` and
``--version`` too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from rmqalloc.cli._help_sections import write_options
from rmqalloc.cli._sink import tell
from rmqalloc.results.and_more import named
from rmqalloc.text import counted, nearest

__all__ = ["NO_OPTIONS", "PREFIX", "Verb", "variables"]

PREFIX = "RMQALLOC"

NO_OPTIONS: Mapping[str, str] = {
    "RMQALLOC_ACCESS_KEY": "access key of the cluster, unless --acl-file is given",
    "RMQALLOC_SECRET_KEY": "its secret key",
    "RMQALLOC_SECURITY_TOKEN": "its token, where the cluster asks for one",
    "RMQALLOC_CONTEXT": "cluster of config.yaml to read, unless --context is given",
    "RMQALLOC_THREADS": "threads that strategies use, 1 by default",
    "RMQALLOC_ISA": "instruction set to use: plain, scalar, avx2, avx512 or neon",
    "_RMQALLOC_COMPLETE": "set by the scripts of rmqalloc completion",
    "RMQALLOC_CACHE": "building and tests: directory of what is costly to make",
    "RMQALLOC_DEBUG": "building: 1 adds bounds checks",
    "RMQALLOC_EVERY_RELEASE": "tests: run on every release of Spark",
    "RMQALLOC_GO_CASES": "tests: cases to compare with client-go",
    "RMQALLOC_LIVE_LONG": "tests: more groups on a running cluster",
    "RMQALLOC_SEED": "tests: seed of random cases",
    "RMQALLOC_TEST_CONNECT": "tests: use Spark Connect",
    "RMQALLOC_TEST_RUN": "tests: marks the programs that a run starts",
    "RMQALLOC_WHEEL_OF": "tests: checkout whose wheel is tested",
}
"""Variables that are read, but set no option, and what each is for."""

_OF_KUBERNETES = rf"{PREFIX}(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
"""What Kubernetes sets in every pod for a service called rmqalloc or rmqalloc-something."""

_MOST_SAID = 10


def variables(option: click.Parameter, prefix: str) -> list[str]:
    """Return the variables that set an option, one for each of its long flags; arguments and eager
    options have none.

    Examples
    --------
    >>> variables(click.Option(["-o", "--to-file", "target"]), "RMQALLOC_PLAN")
    ['RMQALLOC_PLAN_TO_FILE']
    >>> variables(click.Option(["--version"], is_eager=True), "RMQALLOC_PLAN")
    []
    """
    if option.is_eager or not isinstance(option, click.Option):
        return []
    return [f"{prefix}_{_upper(flag[2:])}" for flag in option.opts if flag.startswith("--")]


class Verb(click.Command):
    """A command whose options can also be set by variables of the environment."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments and the variables; warn of variables that are not known."""
        for option in self.params:
            option.envvar = None
        if any(name.startswith(f"{PREFIX}_") and name not in NO_OPTIONS for name in os.environ):
            self._name_variables(ctx)
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as error:
            if error.param is not None and (name := _set_by(ctx, error.param)):
                error.param_hint = (
                    f"{error.param.get_error_hint(ctx)} (from {name} of the environment)"
                )
            raise

    def _name_variables(self, ctx: click.Context) -> None:
        prefix = _prefix(ctx)
        for option in self.params:
            option.envvar = variables(option, prefix)
        if not ctx.resilient_parsing:
            _warn_of_unknown(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections."""
        write_options(self, ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a note before any error names the options that the environment sets."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception:
            given = [(option, _set_by(ctx, option)) for option in self.params]
            if said := [
                f"{max(option.opts, key=len)} from {name}" for option, name in given if name
            ]:
                tell("note", f"set by the environment: {named(said, _MOST_SAID)}")
            raise


def _upper(text: str) -> str:
    return text.replace("-", "_").upper()


def _words(ctx: click.Context) -> list[str]:
    """Return the words of a command, as ``rollout``, ``restart``."""
    return [] if ctx.parent is None else [*_words(ctx.parent), str(ctx.info_name)]


def _prefix(ctx: click.Context) -> str:
    return "_".join([PREFIX, *map(_upper, _words(ctx))])


def _set_by(ctx: click.Context, option: click.Parameter) -> str:
    """Return the variable that an option's value comes from; empty if it comes from elsewhere."""
    if option.name is None or ctx.get_parameter_source(option.name) != ParameterSource.ENVIRONMENT:
        return ""
    return next((name for name in option.envvar or () if os.environ.get(name)), "")


def _warn_of_unknown(ctx: click.Context) -> None:
    """Warn of variables that are neither of this verb nor in the table; those of other verbs are
    not judged.
    """
    given = sorted(
        name for name, value in os.environ.items() if value and name.startswith(f"{PREFIX}_")
    )
    if not given:
        return
    verb, root = (_words(ctx) or [""])[0], ctx.find_root().command
    verbs = root.list_commands(ctx) if isinstance(root, click.Group) else []
    others = tuple(f"{PREFIX}_{_upper(one)}_" for one in verbs if one != verb)
    known = {
        name
        for prefix, one in _loaded(ctx).items()
        for option in one.params
        for name in variables(option, prefix)
    }
    unknown = [
        name
        for name in given
        if name not in known
        and name not in NO_OPTIONS
        and not name.startswith(others)
        and not re.fullmatch(_OF_KUBERNETES, name)
    ]
    for name in unknown[:_MOST_SAID]:
        near = _near(name, f"{PREFIX}_{_upper(verb)}_", known)
        tell("warning", f"the variable {name} is no option of {verb} and has no effect{near}")
    if len(unknown) > _MOST_SAID:
        tell("warning", f"{counted(len(unknown) - _MOST_SAID, 'more variable')} of that kind")


def _loaded(ctx: click.Context) -> dict[str, click.Command]:
    """Return the commands of the verb in use by the prefix of their variables; those of a group are
    loaded together.
    """
    while ctx.parent is not None and ctx.parent.parent is not None:
        ctx = ctx.parent
    prefix = _prefix(ctx)
    if isinstance(ctx.command, click.Group):
        return {f"{prefix}_{_upper(name)}": one for name, one in ctx.command.commands.items()}
    return {prefix: ctx.command}


def _near(name: str, own: str, known: set[str]) -> str:
    """Return the likely name; what all names begin with is left out of the comparison, for it makes
    any two alike.
    """
    start = own if name.startswith(own) else f"{PREFIX}_"
    ends = [one[len(start) :] for one in sorted(known | NO_OPTIONS.keys()) if one.startswith(start)]
    near = nearest(name[len(start) :], ends, 1)
    return f"; did you mean {start}{near[0]}?" if near else ""
