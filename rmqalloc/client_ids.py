"""Client ids: RocketMQ makes one of a host, ``@`` and what tells clients of the host apart."""


def host_of(client_id: str) -> str:
    """Return what stands before the first ``@`` of a client id, an IP address by default.

    Examples
    --------
    >>> host_of("10.0.0.1@1009"), host_of("pod-1")
    ('10.0.0.1', 'pod-1')
    """
    return client_id.partition("@")[0]
