"""Which clients sit behind a RocketMQ proxy: these share the messages of a queue, so a queue has no owner among them."""

from __future__ import annotations

import re

_GRPC_ID = re.compile(r".+@\d+@\d+@-?[0-9a-z]+", re.DOTALL)
_LATER = ("5.", "6.", "newer")


def is_behind_proxy(client_id: str, language: str | None = None, version: str | None = None) -> bool:
    """Whether a client speaks gRPC to a proxy rather than to brokers.

    Such clients take messages of any queue (POP), register without a table of queues and never answer running info.

    Parameters
    ----------
    client_id, language, version : str
        As brokers list them, the release as people write it.

    Notes
    -----
    Nothing a broker lists says so outright. A client counts as one if its id is ``host@pid@n@t``, n counting the clients of
    the process and t a time to base 36, as gRPC SDKs make it: ids of clients that speak to brokers have one ``@``, and after
    a second one a unit's name or STREAM in capitals. It also counts as one if it is of release 5 or later and not written in
    Java: SDKs of other languages that speak to brokers call themselves 4.x.

    Examples
    --------
    >>> is_behind_proxy("vm@17844@0@zm718bkj", "JAVA", "5.5.0"), is_behind_proxy("10.0.0.1@x", "GO", "5.1.0")
    (True, True)
    >>> is_behind_proxy("10.0.0.1@4121#77", "JAVA", "5.5.0"), is_behind_proxy("10.0.0.1@77@STREAM", "GO", "4.5.2")
    (False, False)
    """
    if _GRPC_ID.fullmatch(client_id):
        return True
    return language not in (None, "JAVA") and version is not None and version.startswith(_LATER)
