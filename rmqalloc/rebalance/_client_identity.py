"""By which name a client is known; two processes with one name are one client to every broker and
strategy.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rmqalloc.remoting import MessageModel

DEFAULT_INSTANCE_NAME = "DEFAULT"

_NOT_BLANK = frozenset("\x85\xa0\u2007\u202f")  # white space to Python, not to Java


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """The parts of a client id.

    Attributes
    ----------
    ip : str
        Address of the machine.
    instance_name : str
        Java takes the default from ``rocketmq.client.name``.
    unit_name : str or None
        Omitted if blank.
    stream : bool
        The client speaks the streaming form of requests.

    Notes
    -----
    ``org.apache.rocketmq.client.ClientConfig``.

    Examples
    --------
    >>> ClientIdentity("10.0.0.1", "7#123", unit_name="u1").client_id
    '10.0.0.1@7#123@u1'
    """

    ip: str
    instance_name: str = DEFAULT_INSTANCE_NAME
    unit_name: str | None = None
    stream: bool = False

    @property
    def client_id(self) -> str:
        """Return the client id."""
        unit = [] if self.unit_name is None or is_blank(self.unit_name) else [self.unit_name]
        return "@".join([self.ip, self.instance_name, *unit, *(["STREAM"] if self.stream else [])])

    def at_start(
        self, model: MessageModel, pid: int, nano_time: Callable[[], int] | None
    ) -> "ClientIdentity":
        """Return the identity after the start of a consumer.

        A clustering consumer without an instance name is named by its process, and since 4.9.0 by the
        moment too. Before, consumers of one process shared a client, and containers with equal
        process ids on one address were one client for the broker. A broadcasting consumer keeps its
        name, which is part of the path of its offsets.

        Parameters
        ----------
        model : MessageModel
            Message model of the consumer.
        pid : int
            Process id.
        nano_time : callable or None
            Nanoseconds of an arbitrary origin; None for the releases before 4.9.0.

        Examples
        --------
        >>> ClientIdentity("10.0.0.1").at_start(MessageModel.CLUSTERING, 7, lambda: 99).client_id
        '10.0.0.1@7#99'
        """
        if self.instance_name != DEFAULT_INSTANCE_NAME or model is MessageModel.BROADCASTING:
            return self
        return replace(
            self, instance_name=str(pid) if nano_time is None else f"{pid}#{nano_time()}"
        )


def is_blank(text: str) -> bool:
    """Return True if a text is empty or white space as Java knows it.

    Examples
    --------
    >>> [is_blank(text) for text in ("", "\\u3000", "\\u00a0", "a")]
    [True, True, False, False]
    """
    return all(character.isspace() and character not in _NOT_BLANK for character in text)
