"""A service over given readings, asked in this process: no port, no thread that reads."""

import contextlib
import time

from starlette.testclient import TestClient

from rmqalloc.service.front_door import Admission
from rmqalloc.service.metrics import MetricsText
from rmqalloc.service.readings import Readings
from rmqalloc.service.web_app import Service
from rmqalloc.snapshot.live.rereading import ClosedError, ClusterReading, GroupAges
from rmqalloc.watching import Observer


def reading(snapshot, at=None, **more):
    """A whole reading of a cluster, now or at another time."""
    now = time.time() if at is None else at
    ages = {group.name: GroupAges(now, now, {}) for group in snapshot.groups}
    return ClusterReading(snapshot, now - 0.5, now, ages, frozenset(), True, {})._replace(**more)


class Given:
    """A source of readings, or of errors to raise, in their order; the last stays."""

    def __init__(self, *readings):
        self.left, self.is_closed = list(readings), False

    def read(self):
        if self.is_closed:
            raise ClosedError("closed")
        one = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(one, Exception):
            raise one
        return one

    def close(self):
        self.is_closed = True


def readings_of(*given, observer=None, every=30.0, keepers=()):
    """Readings of a source, the first one made."""
    made = Readings(Given(*given), observer or Observer(), every, keepers)
    made.read_once()
    return made


@contextlib.contextmanager
def served(readings, host="127.0.0.1", token=None, cluster="c", most_groups=1000, **more):
    """A client of a service over readings."""
    service = Service(
        readings, MetricsText(readings, cluster, most_groups), Admission.of(host, token)
    )
    with contextlib.closing(service):
        client = TestClient(
            service.app, base_url="http://127.0.0.1", raise_server_exceptions=False, **more
        )
        client.service = service
        yield client
