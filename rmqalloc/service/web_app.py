"""The paths of the service: each path answers one question about the served state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

from rmqalloc.errors import Error
from rmqalloc.service import cluster_answers as of_cluster
from rmqalloc.service import what_if
from rmqalloc.service.answer_schemas import SCHEMAS_SERVED
from rmqalloc.service.cluster_answers import json_bytes
from rmqalloc.service.front_door import Admission, App, FrontDoor
from rmqalloc.service.metrics import MetricsText
from rmqalloc.service.problems import MEDIA_TYPE, NotReadyError, ProblemError, problem, status_of
from rmqalloc.service.query_parameters import Parameters
from rmqalloc.service.readings import Readings, ServedState, lost_name_servers
from rmqalloc.service.request import Document, Question, ServiceRequest
from rmqalloc.service.workers import BusyError, Workers
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.version import __version__
from rmqalloc.watching.guard import GuardLeases, may_stop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

# May this client stop now: the answer of `rmqalloc.watching.guard`, and the status that says it to programs
# without a JSON reader.

GUARD_PARAMETERS = ("stop", "assume")

STATUS_OF_VERDICT = {
    "yes": HTTPStatus.OK,
    "no": HTTPStatus.CONFLICT,
    "unknown": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""Status of HTTP for each verdict: ``curl --fail`` exits with 22 unless the client may stop."""


def guard(asked: ServiceRequest) -> Document:
    """Return whether the client, address or host in ``stop`` may stop now, like `rmqalloc guard`.

    A "yes" is a lease: further requests get "no" until that client has left and the group has
    settled, or until two minutes have passed. The answer is "unknown" if the data are not current.
    """
    assert asked.leases is not None, "the service has leases"
    groups, target = asked.groups, asked.given.needed("stop", "10.0.0.11@1009")
    if why := asked.not_current:
        try:
            return may_stop(asked.known(), target, groups).of_another_time(why).to_dict()
        except NoMatchError as error:  # it may have joined since
            raise NotReadyError(f"{why}; the answer from these data is: {error}") from error
    return asked.leases.may_stop(asked.known(), target, groups).to_dict()


JSON = "application/json"
_FORMS = {
    JSON: "json",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
}
"""Media types of bodies; a form of another site's page can send none of them."""

_PLAN = Question(what_if.plan, what_if.PLAN_PARAMETERS, most_body=what_if.PLAN_BODY)
_RECOMMEND = Question(what_if.recommend, what_if.RECOMMEND_PARAMETERS)
_DIFF = Question(what_if.diff, what_if.DIFF_PARAMETERS, most_body=what_if.SNAPSHOT_BODY)
_CHECK = Question(of_cluster.check, ("severity",))
_GUARD = Question(guard, GUARD_PARAMETERS, has_effect=True)

QUESTIONS: Mapping[str, Question] = {
    "/v1/groups": Question(of_cluster.groups, of_cluster.GROUPS_PARAMETERS, is_heavy=False),
    "/v1/groups/{group}": Question(of_cluster.group, ("top",), is_heavy=False),
    "/v1/groups/{group}/plan": _PLAN,
    "/v1/groups/{group}/check": _CHECK,
    "/v1/groups/{group}/explain": Question(what_if.explain, what_if.EXPLAIN_PARAMETERS),
    "/v1/groups/{group}/recommend": _RECOMMEND,
    "/v1/groups/{group}/diff": _DIFF,
    "/v1/groups/{group}/guard": _GUARD,
    "/v1/plan": _PLAN,
    "/v1/check": _CHECK._replace(is_heavy=False),
    "/v1/recommend": _RECOMMEND,
    "/v1/diff": _DIFF,
    "/v1/guard": _GUARD,
    "/v1/snapshot": Question(of_cluster.snapshot),
}
"""Questions about the state, by path; ``{group}`` is the name of a consumer group in percent encoding."""

HEAVY_THREADS, MOST_HEAVY = 2, 256
LIGHT_THREADS, MOST_LIGHT = 2, 1024
"""Threads for answers, and maximum answers that run or wait."""
MOST_SNAPSHOTS = 4
"""Maximum concurrent posted snapshots, which take megabytes each."""


class Service:
    """The parts that answer requests: readings, metrics and threads.

    Parameters
    ----------
    readings : Readings
    metrics : MetricsText
    access : Admission
    history : str, optional
        The file of a history, for earlier moments.
    """

    def __init__(
        self,
        readings: Readings,
        metrics: MetricsText,
        access: Admission,
        history: str | None = None,
    ) -> None:
        self.readings, self._metrics, self._history = readings, metrics, history
        self._heavy, self._light = (
            Workers(HEAVY_THREADS, MOST_HEAVY),
            Workers(LIGHT_THREADS, MOST_LIGHT),
        )
        self._snapshots, self._leases = 0, GuardLeases()
        self.app: App = FrontDoor(self._routed(), access)

    def close(self) -> None:
        """End the idle threads."""
        self._heavy.close()
        self._light.close()

    def _routed(self) -> App:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route

        def route(
            path: str,
            endpoint: Callable[[Request], Awaitable[Response]],
            methods: Sequence[str] = ("GET", "HEAD"),
        ) -> Route:
            made = Route(path, endpoint)
            made.methods = dict.fromkeys(methods)  # type: ignore[assignment]  # Allow in this order
            return made

        asking = [
            route(path, partial(self._answer, question), question.methods)
            for path, question in QUESTIONS.items()
        ]
        others = {
            "/healthz": _healthy,
            "/readyz": self._ready,
            "/metrics": self._scraped,
            "/v1/status": self._status,
            "/v1/schema": _schemas,
            "/v1/schema/{name}": _schema,
            "/": _page,
            "/static/{name}": _page,
        }
        app = Starlette(
            routes=[*asking, *(route(path, endpoint) for path, endpoint in others.items())],
            exception_handlers={
                Error: _refused, OSError: _refused, MemoryError: _refused, HTTPException: _refused, Exception: _defect,
            },
        )  # fmt: skip
        app.router.redirect_slashes = False
        return app

    def _state(self) -> ServedState:
        state = self.readings.state
        if state is None:
            raise NotReadyError(self.readings.why_not_ready)
        return state

    async def _answer(self, question: Question, request: Request) -> Response:
        if request.method != "POST" or question.most_body <= what_if.PLAN_BODY:
            return await self._worked_out(question, request)
        if self._snapshots >= MOST_SNAPSHOTS:
            raise BusyError(f"{MOST_SNAPSHOTS} snapshots are being compared; try again in a second")
        self._snapshots += 1
        try:
            return await self._worked_out(question, request)
        finally:
            self._snapshots -= 1

    async def _worked_out(self, question: Question, request: Request) -> Response:
        given = Parameters(request.scope["query_string"], question.parameters)
        group = request.path_params.get("group")
        body, form = (
            await _posted(request, question.most_body)
            if request.method == "POST"
            else (None, "json")
        )
        state = self._state()
        asked = ServiceRequest(
            state,
            given,
            None if group is None else _decoded(group),
            body,
            form,
            self._leases,
            self._history,
            self.readings.why_not_current(state),
        )
        workers = self._heavy if question.is_heavy else self._light
        status, content = await asyncio.wrap_future(
            workers.submit(partial(_content, question, asked, request.url.query))
        )
        return _response(content, JSON, status, _age_headers(state, self.readings.why_not_ready))

    async def _scraped(self, request: Request) -> Response:
        Parameters(request.scope["query_string"], ())
        accept = request.headers.get("accept")
        text, kind = await asyncio.wrap_future(
            self._light.submit(lambda: self._metrics.text(accept))
        )
        return _response(text, kind)

    async def _ready(self, _request: Request) -> Response:
        if why := self.readings.why_not_ready:
            raise NotReadyError(why)
        headers = _age_headers(self._state(), None)
        return _response(json_bytes({"status": "ready"}), JSON, HTTPStatus.OK, headers)

    async def _status(self, _request: Request) -> Response:
        state, status = self._state(), self.readings.status
        reading, not_ready = state.observation.reading, self.readings.why_not_ready
        document = {
            "version": __version__,
            "every": self.readings.every,
            **status._asdict(),
            "error": status.error or lost_name_servers(reading),
            "read_at": state.taken_at,
            "age": state.age,
            "seconds": reading.read_at - reading.began_at,
            "is_whole": reading.is_whole,
            "is_ready": not not_ready,
            "why_not_ready": not_ready,
            "n_groups": len(reading.snapshot.groups),
            "n_not_read": len(reading.not_read),
            "n_errors": len(reading.snapshot.errors),
            "n_requests": dict(reading.n_requests),
        }
        headers = _age_headers(state, not_ready)
        return _response(json_bytes(document), JSON, HTTPStatus.OK, headers)


def _content(question: Question, asked: ServiceRequest, query: str) -> tuple[int, bytes]:
    """Return the status and the text of an answer; what everybody asks is worked out once."""

    def made() -> tuple[int, bytes]:
        document = question.answer(asked)
        if isinstance(document, bytes):
            return HTTPStatus.OK, document
        of_guard = question.answer is guard
        status = (
            STATUS_OF_VERDICT.get(document["verdict"], HTTPStatus.SERVICE_UNAVAILABLE)
            if of_guard
            else HTTPStatus.OK
        )
        return status, json_bytes(document)

    is_common = asked.group is None and not query and asked.body is None
    return asked.state.once(question.answer, made) if is_common else made()


def _decoded(name: str) -> str:
    """Return a part of a path as text."""
    try:
        return unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"{name!r} is not UTF-8 in percent encoding"
        ) from None


async def _posted(request: Request, most: int) -> tuple[bytes, str]:
    """Return what is posted, no more than it may be, and its form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _FORMS:
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the header Content-Type must be {JSON} or application/yaml",
        )
    from starlette.requests import ClientDisconnect

    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                raise ProblemError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"the body has more than {most:,} bytes",
                )
    except ClientDisconnect:  # nobody gets the answer, and nothing is wrong here
        raise ProblemError(HTTPStatus.BAD_REQUEST, "the body was cut off") from None
    return bytes(body), _FORMS[kind]


def _response(
    content: bytes,
    kind: str,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    from starlette.responses import Response

    return Response(content, status, {"Content-Type": kind, **(headers or {})})


def _age_headers(state: ServedState, not_ready: str | None) -> dict[str, str]:
    """Return headers that say when the data of an answer are from, and why that is not now."""
    at, age = state.taken_at, state.age
    headers = {"Rmqalloc-Age": "unknown" if age is None else f"{age:.1f}"}
    if at is not None:
        taken = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        headers["Rmqalloc-Read-At"] = taken
    if not_ready:  # in ASCII, for it may have words of servers
        headers["Rmqalloc-Not-Current"] = json.dumps(not_ready)[1:-1]
    return headers


async def _healthy(_request: Request) -> Response:
    return _response(json_bytes({"status": "ok"}), JSON)


async def _schemas(_request: Request) -> Response:
    return _response(json_bytes({"documents": list(SCHEMAS_SERVED)}), JSON)


async def _schema(request: Request) -> Response:
    name = _decoded(request.path_params["name"])
    if name not in SCHEMAS_SERVED:
        raise ProblemError(
            HTTPStatus.NOT_FOUND,
            f"there is no document {name!r}; the documents are {', '.join(SCHEMAS_SERVED)}",
        )
    return _response(json_bytes(SCHEMAS_SERVED[name]()), "application/schema+json")


async def _page(request: Request) -> Response:
    name = request.path_params.get("name", INDEX)
    found = page_files().get(name)
    if found is None:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, "there is no such page; try /metrics or /v1/groups"
        )
    return _response(found.content, found.media_type)


async def _refused(_request: Request, error: Any) -> Response:
    """Return what an error says, be it rmqalloc's, the system's or the router's."""
    status = getattr(error, "status_code", None) or status_of(error)
    said = (
        str(error)
        if isinstance(error, Error)
        else getattr(error, "detail", None) or "the system refused; try again"
    )
    made = _response(json_bytes(problem(status, said)), MEDIA_TYPE, status)
    made.headers.update(getattr(error, "headers", None) or {})
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        made.headers["Retry-After"] = "1"
    return made


async def _defect(_request: Request, _error: Exception) -> Response:
    """Return the answer to a request that a defect ended; the log has the traceback."""
    text = "a defect of rmqalloc, not of the request; its log has the traceback"
    return _response(
        json_bytes(problem(HTTPStatus.INTERNAL_SERVER_ERROR, text)),
        MEDIA_TYPE,
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )


# The files of the page, as they lie in the package: all that is below ``/static/``, read once,
# never a path of a request's.

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

INDEX = "index.html"


class PageFile(NamedTuple):
    """One file: its bytes and its media type."""

    content: bytes
    media_type: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """Return the files of the page by their names."""
    if not _FOLDER.is_dir():
        return {}
    files = (path for path in _FOLDER.iterdir() if path.suffix in _TYPES)
    return {path.name: PageFile(path.read_bytes(), _TYPES[path.suffix]) for path in sorted(files)}
