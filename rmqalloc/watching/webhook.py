"""Findings that are raised and cleared, posted to an address by HTTP: `Webhook`.

A thread of its own sends one message after the other, so that a receiver that is slow, hangs or
fails never holds up the watch. What waits is bounded in number, and each message in tries and time;
what could not be sent is counted and said. An address may hold a secret: no message shows more of
it than `shown_address`.
"""

from __future__ import annotations

import json
import queue
import random
import ssl
import threading
import time
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from rmqalloc.audit import Finding
from rmqalloc.errors import Error
from rmqalloc.text import counted
from rmqalloc.watching.raised import fault_of
from rmqalloc.watching.webhook_forms import CLEARED, FORMS, MOST_FINDINGS, RAISED, FindingNews

MOST_WAITING = 50
"""Messages that wait to be sent."""

_MOST_TRIES = 6
_MOST_SECONDS = 60.0
_ANSWERS_WITHIN = 10.0
_LONGEST_PAUSE = 15.0
_MOST_NOTES = 5
_WANTED = "it must be like https://hooks.example.com/services/x, with http or https, and without user and password"


class WebhookError(Error, ValueError):
    """An address that nothing can be posted to; the message does not show it, for it may hold a
    secret.
    """


class _Failure(NamedTuple):
    """Why a message was not taken, and whether it is worth another try, after so many seconds at
    least.
    """

    why: str
    is_passing: bool
    after: float = 0.0


def shown_address(address: str) -> str:
    """Return what may be shown of an address: its scheme, host and port.

    Raises
    ------
    WebhookError

    Examples
    --------
    >>> shown_address("https://hooks.example.com/services/T0/B0/secret?x=y")
    'https://hooks.example.com'
    """
    parts = _parts(address)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return f"{parts.scheme}://{host}{'' if parts.port is None else f':{parts.port}'}"


class Webhook:
    """Posts what is raised and cleared in one cluster.

    Parameters
    ----------
    address : str
        Where to post: http or https, whose certificate is verified. Redirects are not followed.
    cluster : str
        The cluster's name in the messages.
    form : str
        A key of `rmqalloc.watching.webhook_forms.FORMS`.

    Raises
    ------
    WebhookError
        The address is none to post to.

    Examples
    --------
    >>> hook = Webhook("http://127.0.0.1:9/secret", "orders", "slack")
    >>> hook.after([], []), hook.notes(), hook.close()
    (None, [], None)
    """

    def __init__(self, address: str, cluster: str, form: str = "json") -> None:
        self._parts, self._shown = _parts(address), shown_address(address)
        self._cluster, self._form = cluster, FORMS[form]
        self._raised: dict[Hashable, tuple[Finding, float]] = {}
        self._waiting: queue.Queue[tuple[bytes, int] | None] = queue.Queue(MOST_WAITING)
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._notes: list[str] = []
        self._n_dropped = self._n_unsent = 0
        self._is_over = False
        self._thread: threading.Thread | None = None

    def after(
        self, raised: Iterable[Finding], cleared: Iterable[Finding], at: float | None = None
    ) -> None:
        """Send what a look has raised and cleared; returns at once.

        Parameters
        ----------
        raised, cleared : iterable of Finding
            As `RaisedFindings.after` returns them.
        at : float, optional
            When that was, in seconds of the Unix clock; now by default.
        """
        told, at = [], time.time() if at is None else at
        for one in cleared:
            _, since = self._raised.pop(fault_of(one), (one, at))
            told.append(FindingNews(CLEARED, one, since, at))
        for one in raised:
            before, _ = self._raised.get(fault_of(one), (None, at))
            self._raised[fault_of(one)] = one, at
            told.append(FindingNews(RAISED, one, at, before=before))
        for start in range(0, len(told), MOST_FINDINGS):
            self._put(told[start : start + MOST_FINDINGS])

    def notes(self) -> list[str]:
        """Return what has gone wrong since it was asked last, for people; the first few, and
        counts.
        """
        with self._lock:
            notes, self._notes = self._notes, []
            n_dropped, self._n_dropped = self._n_dropped, 0
        if n_dropped:
            notes.append(f"{counted(n_dropped, 'finding')} not sent to {self._shown}")
        return notes

    def close(self, within: float = 2.0) -> None:
        """End; what is under way or waits has so many seconds to be sent, and is not tried again."""
        self._closing.set()
        if self._thread is not None:
            with suppress(queue.Full):  # then it is not waiting for one
                self._waiting.put_nowait(None)
            self._thread.join(within)
        with self._lock:
            self._is_over = True
            self._n_dropped += self._n_unsent
            self._n_unsent = 0

    def _put(self, told: Sequence[FindingNews]) -> None:
        """Let a message wait to be sent, or drop it if too many do."""
        body = json.dumps(self._form(self._cluster, told)).encode("ascii")
        with self._lock:
            self._n_unsent += len(told)
        try:
            self._waiting.put_nowait((body, len(told)))
        except queue.Full:
            self._done(len(told), False, f"{self._shown} is too slow: {MOST_WAITING} messages wait")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rmqalloc-webhook", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Send what waits, one after the other."""
        while not self._is_over and not (self._closing.is_set() and self._waiting.empty()):
            item = self._waiting.get()
            if item is not None:
                body, n_findings = item
                failure = self._sent(body)
                self._done(
                    n_findings, failure is None, f"{self._shown} {failure.why}" if failure else ""
                )

    def _done(self, n_findings: int, is_sent: bool, note: str) -> None:
        with self._lock:
            if self._is_over:
                return
            self._n_unsent -= n_findings
            if not is_sent:
                self._n_dropped += n_findings
                if note not in self._notes and len(self._notes) < _MOST_NOTES:
                    self._notes.append(note)

    def _sent(self, body: bytes) -> _Failure | None:
        """Post a message, again and again if the failure may pass; return the last failure, None
        once it is taken.
        """
        until, failure = time.monotonic() + _MOST_SECONDS, None
        for n_tries in range(_MOST_TRIES):
            failure = self._post(body)
            pause = max(_pause(n_tries), 0.0 if failure is None else failure.after)
            if failure is None or not failure.is_passing or time.monotonic() + pause > until:
                return failure
            if n_tries + 1 == _MOST_TRIES or self._closing.wait(pause):
                return failure
        return failure

    def _post(self, body: bytes) -> _Failure | None:
        """Post a message once."""
        parts, host = self._parts, str(self._parts.hostname)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = (
            HTTPSConnection(
                host, parts.port, timeout=_ANSWERS_WITHIN, context=ssl.create_default_context()
            )
            if parts.scheme == "https"
            else HTTPConnection(host, parts.port, timeout=_ANSWERS_WITHIN)
        )
        try:
            connection.request(
                "POST", target, body, {"Content-Type": "application/json", "User-Agent": "rmqalloc"}
            )
            return _failure_of(connection.getresponse())
        except ssl.SSLCertVerificationError as error:
            return _Failure(f"has a certificate that is not trusted: {error.verify_message}", False)
        except TimeoutError:
            return _Failure("does not answer", True)
        except (OSError, HTTPException, UnicodeError) as error:
            reason = (
                error.strerror
                if isinstance(error, OSError) and error.strerror
                else type(error).__name__
            )
            return _Failure(f"cannot be reached: {reason}", True)
        finally:
            connection.close()


def _parts(address: str) -> SplitResult:
    """Return the parts of an address that can be posted to."""
    is_plain = address.isascii() and address.isprintable() and " " not in address
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not (is_plain and is_address) or "@" in parts.netloc:
        raise WebhookError(f"the address of the webhook is none: {_WANTED}")
    return parts


def _failure_of(response: HTTPResponse) -> _Failure | None:
    """Return why an answer is a failure, None for one that says that the message was taken."""
    status = response.status
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return _Failure(f"answered {status}, and redirects are not followed", False)
    is_passing = status == 429 or status >= 500
    return _Failure(
        f"answered {status}", is_passing, _asked_pause(response.headers.get("Retry-After", ""))
    )


def _asked_pause(text: str) -> float:
    """Return the seconds that a `Retry-After` asks for, 0 where it says nothing."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _pause(n_tries: int) -> float:
    """Return the seconds to wait after so many failures: twice as long each time, and not the same
    for all who wait.
    """
    return min(_LONGEST_PAUSE, 0.5 * 2.0**n_tries) * random.uniform(0.5, 1.0)
