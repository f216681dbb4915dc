"""A server of the page alone: its files, and the paths that it asks, from one snapshot instead of a
running cluster.
"""

import json
import threading
import time
from pathlib import Path

import rmqalloc
from rmqalloc.globs import literal
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

PAGE = Path(rmqalloc.__file__).parent / "service" / "page"
TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HOST = "127.0.0.1"
LARGE = "large-orders"
READ_AT = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def large_snapshot():
    """Example orders beside a group of 1,000 queues and 50 clients."""
    orders = rmqalloc.read("example:orders")
    topic = Topic("large", tuple(TopicBroker(f"broker-{b}", 100, 100) for b in range(10)))
    clients = tuple(Client(f"10.20.{i // 10}.{i % 10}@{4000 + i}") for i in range(50))
    group = Group(LARGE, ("large",), clients, strategy="AVG")
    return Snapshot((*orders.topics, topic), (*orders.groups, group), fetched_at=orders.fetched_at)


def events():
    """What may have happened last in billing."""
    times = {"last_seen_before": 1796000000.0, "first_seen_after": 1796000030.0}
    moved = {"kind": "moved", "topic": "payments", "broker_name": "broker-a", "queue_id": 3}
    return [
        {"kind": "left", "client_id": "10.1.0.35@2201", **times},
        {**moved, "before": ["10.1.0.35@2201"], "after": ["10.1.0.32@902"], **times},
    ]


class PageServer:
    """The endpoints over one snapshot."""

    def __init__(self, snapshot, token=""):
        self._snapshot, self._token = snapshot, token

    def app(self):
        """The ASGI application."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        paths = {
            "/": _page,
            "/static/{name}": _page,
            "/v1/groups": self._groups,
            "/v1/groups/{group:path}/plan": self._plan,
            "/v1/groups/{group:path}": self._group,
        }
        return Starlette(
            routes=[Route(path, called, methods=["GET", "POST"]) for path, called in paths.items()]
        )

    def _groups(self, request):
        if self._token and request.headers.get("authorization") != f"Bearer {self._token}":
            return _as_json({"detail": "a token is needed"}, 401)
        rows = rmqalloc.groups(self._snapshot).groups.to_pylist()
        return _as_json({"groups": rows, "n_rows": len(rows)})

    def _group(self, request):
        name = request.path_params["group"]
        only = [literal(name)]
        try:
            row = rmqalloc.groups(self._snapshot, only).groups.to_pylist()[0]
        except rmqalloc.Error as error:
            return _as_json({"detail": str(error)}, 404)
        owners = rmqalloc.show(self._snapshot, only)
        found = rmqalloc.check(self._snapshot, only).to_dict()["findings"]
        parts = {"queues": owners.queues.to_pylist(), "clients": owners.clients.to_pylist()}
        return _as_json(
            {
                "group": row,
                **parts,
                "findings": found,
                "events": events() if name == "billing" else [],
            }
        )

    async def _plan(self, request):
        try:
            scenarios = json.loads(await request.body())["scenarios"]
            made = rmqalloc.plan(self._snapshot, scenarios, [literal(request.path_params["group"])])
        except rmqalloc.Error as error:
            return _as_json({"detail": str(error)}, 400)
        tables = {}
        for one in request.query_params["show"].split(","):
            tables[one] = (
                made.transitions() if one == "transitions" else getattr(made, one)
            ).to_pylist()
        return _as_json({"warnings": list(made.warnings), **tables})


def _page(request):
    path = PAGE / request.path_params.get("name", "index.html")
    return _answered(path.read_bytes(), f"{TYPES[path.suffix]}; charset=utf-8")


def _as_json(document, status=200):
    return _answered(json.dumps(document), "application/json", status)


def _answered(content, kind, status=200):
    from starlette.responses import Response

    headers = {"Content-Type": kind, "Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    return Response(
        content, status, {**headers, "Rmqalloc-Read-At": READ_AT, "Rmqalloc-Age": "4.2"}
    )


class Served:
    """The application on a port of loopback that is free, in a thread; as a context manager its
    address.
    """

    def __init__(self, snapshot, token=""):
        import uvicorn

        self._server = uvicorn.Server(
            uvicorn.Config(PageServer(snapshot, token).app(), host=HOST, port=0, log_level="error")
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self):
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return f"http://{HOST}:{self._server.servers[0].sockets[0].getsockname()[1]}/"

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join()
