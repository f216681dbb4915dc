"""What a request can end with when it does not end well."""

from enum import IntEnum

from rmqalloc.errors import Error
from rmqalloc.text import message

_LONGEST = 1000  # characters of a message: what a server says of itself comes from the network


def one_line(text: str) -> str:
    """Return the text of a peer as one printable line of an error, shortened. A short printable line
    stays as it is.

    Examples
    --------
    >>> one_line("no such group\\r\\n\\x1b[2J")
    'no such group\\\\r\\\\n\\\\x1b[2J'
    """
    return message(text, _LONGEST)


class ResponseCode(IntEnum):
    """Codes a name server or broker answers with
    (``org.apache.rocketmq.remoting.protocol.ResponseCode``).
    """

    SUCCESS = 0
    SYSTEM_ERROR = 1
    SYSTEM_BUSY = 2
    REQUEST_CODE_NOT_SUPPORTED = 3
    NO_PERMISSION = 16
    TOPIC_NOT_EXIST = 17
    PULL_NOT_FOUND = 19
    PULL_RETRY_IMMEDIATELY = 20
    PULL_OFFSET_MOVED = 21
    QUERY_NOT_FOUND = 22
    SUBSCRIPTION_PARSE_FAILED = 23
    SUBSCRIPTION_NOT_EXIST = 24
    SUBSCRIPTION_NOT_LATEST = 25
    SUBSCRIPTION_GROUP_NOT_EXIST = 26
    FILTER_DATA_NOT_EXIST = 27
    CONSUMER_NOT_ONLINE = 206
    CONSUME_MSG_TIMEOUT = 207
    FLOW_CONTROL = 215


class RemotingError(Error):
    """A request got no answer: the peer could not be reached, closed the connection or took too
    long.

    The message is one printable line, shortened, whatever the address or the text of the peer.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class ResponseError(Error):
    """A request was answered with a code other than success (Java: ``MQBrokerException``).

    Attributes
    ----------
    code : int
        The answer's code, see `ResponseCode`; codes not listed there are possible.
    remark : str
        Text of the answer, unchanged; the message has it printable and shortened.

    Examples
    --------
    >>> str(ResponseError(ResponseCode.SYSTEM_ERROR, "no\\r\\n\\x1b[2Jsuch group"))
    'code 1 (SYSTEM_ERROR): no\\\\r\\\\n\\\\x1b[2Jsuch group'
    >>> str(ResponseError(ResponseCode.TOPIC_NOT_EXIST, "no such topic"))
    'code 17 (TOPIC_NOT_EXIST): no such topic'
    """

    def __init__(self, code: int, remark: str = "") -> None:
        known = code in ResponseCode.__members__.values()
        super().__init__(
            f"code {int(code)}{f' ({ResponseCode(code).name})' if known else ''}: {one_line(remark)}"
        )
        self.code = int(code)
        self.remark = remark


class ClientError(Error):
    """A client cannot carry out a request, independent of the brokers' answers (Java:
    ``MQClientException``).

    Attributes
    ----------
    code : int or None
        A `ResponseCode` if Java gives one.

    Examples
    --------
    >>> ClientError("no offset", ResponseCode.QUERY_NOT_FOUND).code
    <ResponseCode.QUERY_NOT_FOUND: 22>
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code
