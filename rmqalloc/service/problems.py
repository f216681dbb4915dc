"""Refusals of requests: an error with a status, and the JSON that describes it (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from rmqalloc.errors import Error
from rmqalloc.service.workers import BusyError
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.text import message

MEDIA_TYPE = "application/problem+json"


class ProblemError(Error):
    """A request that is refused.

    Attributes
    ----------
    status : int
        Status of HTTP.
    """

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class NotReadyError(ProblemError):
    """There is no reading yet, or the served data are not current."""

    def __init__(self, why: str | None) -> None:
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, str(why))


def status_of(error: Exception) -> int:
    """Return the status of an error.

    Examples
    --------
    >>> [int(status_of(one)) for one in (NoMatchError("no group"), BusyError("later"), Error("a scenario"))]
    [404, 503, 400]
    """
    if isinstance(error, ProblemError):
        return error.status
    if isinstance(error, NoMatchError):
        return HTTPStatus.NOT_FOUND
    unavailable = isinstance(error, BusyError | MemoryError | TimeoutError)
    return HTTPStatus.SERVICE_UNAVAILABLE if unavailable else HTTPStatus.BAD_REQUEST


def problem(status: int, detail: str) -> dict[str, Any]:
    """Return the document of a refusal.

    Examples
    --------
    >>> problem(404, "no consumer group matches 'x'")
    {'type': 'about:blank', 'title': 'Not Found', 'status': 404, 'detail': "no consumer group matches 'x'"}
    """
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": message(detail),
    }
