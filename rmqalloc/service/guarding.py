"""May this client stop now: the answer of `rmqalloc.guard`, and the status that says it to programs
without a JSON reader.
"""

from __future__ import annotations

from http import HTTPStatus

from rmqalloc.service.asked import Document, ServiceRequest

GUARD_PARAMETERS = ("stop", "assume")

STATUS_OF_VERDICT = {
    "yes": HTTPStatus.OK,
    "no": HTTPStatus.CONFLICT,
    "unknown": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""What HTTP says of a verdict: ``curl --fail`` ends with 22 unless the client may stop."""


def guard(asked: ServiceRequest) -> Document:
    """Return whether the client, address or host that ``stop`` names may stop now, as `rmqalloc
    guard` says it.

    A "yes" is a lease: until that client has left and the group has settled, or two minutes have
    passed, others get "no".
    """
    assert asked.leases is not None, "the service has leases"
    groups, target = asked.groups, asked.given.needed("stop", "10.0.0.11@1009")
    return asked.leases.may_stop(asked.known(), target, groups).to_dict()
