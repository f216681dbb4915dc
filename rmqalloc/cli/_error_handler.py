"""The one place that turns what went wrong into a message and an exit code.

What a file, a server or the caller did is an `rmqalloc.Error`, or an OSError or MemoryError of the
system: one line says so. Any other exception is a defect of rmqalloc, also a ValueError or
TypeError of Python or pyarrow: its traceback is printed, and that it is one. Readers of files
therefore turn what their parsers raise into errors of their own, which name the file.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._sink import ClosedPipeError, say, tell
from rmqalloc.errors import Error, hint

__all__ = ["exit_code_of", "verb_of"]

_HELP_SHOWN: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # click 8.2
_OURS = ("rmqalloc", "spark_udfs")


def exit_code_of(command: Callable[[], int], verb: str) -> int:
    """Run a command; an error becomes a message on standard error and an exit code."""
    try:
        return command()
    except click.UsageError as error:
        _say_usage(error)
        return exit_codes.USAGE
    except (click.Abort, KeyboardInterrupt) as error:
        tell("rmqalloc", "; ".join(["interrupted", *_notes(error)]))
        return exit_codes.INTERRUPTED
    except ClosedPipeError:
        # Nothing to tell, and Python must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.PIPE
    except click.ClickException as error:
        tell("rmqalloc", error.format_message())
    except (OSError, Error, MemoryError) as error:
        tell("rmqalloc", _said(error))
        return _code_of(error)
    except Exception as error:
        if not isinstance(error, ImportError) or (error.name or "").partition(".")[0] in _OURS:
            return _defect(error, verb)
        tell("rmqalloc", hint(error))
    return exit_codes.FAILURE


def _notes(error: BaseException | None) -> Iterator[str]:
    """Yield the notes of an error, and of those that it came from."""
    while error is not None:
        yield from getattr(error, "__notes__", ())
        error = error.__cause__ or error.__context__


def _code_of(error: Exception) -> int:
    """`exit_codes.PARTIAL` if an answer needs a fact that is missing, else `exit_codes.FAILURE`."""
    from rmqalloc.snapshot.matching import NoMatchError

    if isinstance(error, NoMatchError):
        from rmqalloc.evidence import Outcome, UnansweredError

        if isinstance(error, UnansweredError) and error.outcome is Outcome.LEFT_OUT:
            return exit_codes.PARTIAL
    return exit_codes.FAILURE


def _said(error: Exception) -> str:
    """Return what an error says, without the numbers that Python puts before errors of files."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _say_usage(error: click.UsageError) -> None:
    """As click says it, but that an argument which it quotes stays within its line."""
    context = error.ctx
    if isinstance(error, _HELP_SHOWN):
        say(error.format_message(), err=True)
        return
    if context is None:
        tell("Error", error.format_message())
        return
    say(context.get_usage(), err=True)
    if names := context.help_option_names:
        say(f"Try '{context.command_path} {names[0]}' for help.", err=True)
    say(err=True)
    tell("Error", error.format_message())


def _defect(error: Exception, verb: str) -> int:
    import traceback

    from rmqalloc.version import __version__

    say("".join(traceback.format_exception(error)), err=True, end="")
    tell(
        "rmqalloc",
        f"this is a defect of rmqalloc, not of its input: {type(error).__name__} in {verb}, "
        f"rmqalloc {__version__}, "
        f"Python {platform.python_version()}. Please report the traceback above, the command "
        "and, if possible, the file",
    )
    return exit_codes.DEFECT


def verb_of(argv: Sequence[str], verbs: Sequence[str]) -> str:
    """Return the verb of a command line, as far as it has one.

    Examples
    --------
    >>> verb_of(["plan", "-f", "s.yaml"], ["plan"])
    'rmqalloc plan'
    """
    return " ".join(["rmqalloc", *[one for one in argv if one in verbs][:1]])
