"""The address that ``check --watch`` posts to: given, or read from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rmqalloc.watching.webhook import Webhook

_MOST_CHARACTERS = 8192


def webhook_of(address: str | None, file: str | None, form: str, cluster: str) -> Webhook | None:
    """Return what posts to the address of the options, None if there is none; no message shows the
    address.
    """
    from rmqalloc.watching.webhook import Webhook, WebhookError

    if address and file:
        raise click.UsageError(
            "--webhook and --webhook-file both give an address: leave one of them out"
        )
    if file:
        address = _read(file)
    if not address:
        return None
    try:
        return Webhook(address, cluster, form)
    except WebhookError as error:
        raise click.UsageError(f"--webhook{'-file' if file else ''}: {error}") from None


def _read(file: str) -> str:
    """Return the one line of a file."""
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read(_MOST_CHARACTERS + 1).strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise click.UsageError(f"--webhook-file {file}: {reason}") from None
    if not text or len(text) > _MOST_CHARACTERS or len(text.splitlines()) > 1:
        raise click.UsageError(f"--webhook-file {file}: it must hold an address in one line")
    return text
