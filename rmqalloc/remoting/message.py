"""Messages in the answers to pulls; Java's ``MessageDecoder`` and ``MessageExt``.

An answer has hundreds of messages, and a listener reads few fields of each. So the fixed part of a
message is read at once, and its body and properties are kept as bytes until they are requested.

An unreadable message costs only itself. The first number of a message gives the place of the next
message, and it counts if a message does begin there. Otherwise the messages behind it cannot be
found in this answer, so the reader stops there, and the next pull begins behind it: the broker has
an index of the beginnings of messages. Java's decoder drops the rest of the answer instead.

An answer costs bounded time and memory, whatever it contains: `MAX_MESSAGES` and `MAX_BODY`. The
next pull reads messages beyond them. Reading proceeds in steps of some milliseconds.
beyond them is left to the next pull. Reading goes in steps of some milliseconds.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from struct import Struct
from struct import error as StructError
from sys import intern

from rmqalloc.errors import Error

COMPRESSED, BORN_V6, STORE_V6 = 1, 1 << 4, 1 << 5
"""Bits of ``sys_flag``; Java's ``MessageSysFlag``."""

_V6 = BORN_V6 | STORE_V6
_BATCH = 1 << 6 | 1 << 7  # a batch, which consumers take apart
_COMPRESSION = 7 << 8
_CRC = 0x7FFFFFFF

MAGIC_V1, MAGIC_V2 = -626843481, -626843477
"""Second number of a message; with version 2, a topic may have more than 127 bytes. Java's ``MessageVersion``."""

MAX_BODY = 64 << 20
"""Maximum bytes of a decompressed body, and of all batches of one answer; brokers accept bodies of 4 MiB
unless configured otherwise.
"""

MAX_MESSAGES = 8192
"""Maximum messages of one answer, messages in batches included; a pull requests at most 1,024."""

_LEAST = -(1 << 63)  # of Java's long
_STEP = 256 << 10  # bytes of an answer in one step, a pull's usual bound: 2,900 messages at most
_BATCH_STEP = 64 << 10  # bytes of a batch in one step: also 2,900 messages at most
_CHUNK = 1 << 20  # bytes that are decompressed in one step

TAGS, KEYS, UNIQUE_KEY, RETRY_TOPIC, REAL_TOPIC = (
    "TAGS",
    "KEYS",
    "UNIQ_KEY",
    "RETRY_TOPIC",
    "REAL_TOPIC",
)
"""Properties that RocketMQ itself sets and reads; Java's ``MessageConst``."""


class MessageError(Error, ValueError):
    """Bytes are not a message, or a body cannot be read."""


def _layout(born: int, store: int) -> Struct:
    return Struct(f">iiiiiqqiq{born}siq{store}siiqi")


_LAYOUTS = {
    flags: _layout(16 if flags & BORN_V6 else 4, 16 if flags & STORE_V6 else 4)
    for flags in (0, BORN_V6, STORE_V6, _V6)
}
_PLAIN, _SHORT = _LAYOUTS[0], Struct(">h")
_MAGICS = {magic.to_bytes(4, signed=True) for magic in (MAGIC_V1, MAGIC_V2)}
_INNER = Struct(
    ">iiiii"
)  # of a message within another one: size, magic code, checksum, flag, length of the body


@dataclass(slots=True)
class Message:
    """One message; Java's ``MessageExt``.

    Attributes
    ----------
    topic : str
        Topic that it was read from; the retry topic of a group if it was sent back, see
        `retry_topic`.
    raw_body : bytes
        Body as received; `body` is decompressed.
    raw_properties : bytes
        Properties as received; see `properties`.
    queue_id, queue_offset : int
        Queue id, and offset in the queue.
    commit_log_offset : int
        Offset in the commit log of its broker.
    sys_flag, flag : int
        RocketMQ's own bits, and the sender's.
    born_timestamp, store_timestamp : int
        When it was sent and stored, in milliseconds.
    reconsume_times : int
        How often it was sent back before.
    body_crc : int
        Checksum of ``raw_body``, see `check_body`.
    store_size : int
        Its total bytes.
    prepared_transaction_offset : int
        Offset of a transaction.
    broker_name : str
        Broker that it was pulled from, set by the puller: messages do not contain it.

    Examples
    --------
    >>> message = Message("orders", b"42", b"TAGS\\x01paid\\x02KEYS\\x01a b\\x02")
    >>> message.tags, message.keys, message.body
    ('paid', ['a', 'b'], b'42')
    """

    topic: str
    raw_body: bytes = field(default=b"", repr=False)
    raw_properties: bytes = field(default=b"", repr=False)
    queue_id: int = 0
    queue_offset: int = 0
    commit_log_offset: int = 0
    sys_flag: int = 0
    flag: int = 0
    born_timestamp: int = 0
    store_timestamp: int = 0
    reconsume_times: int = 0
    body_crc: int = 0
    store_size: int = 0
    prepared_transaction_offset: int = 0
    broker_name: str = field(default="", compare=False)
    _born: bytes = field(default=b"\0\0\0\0", repr=False)
    _born_port: int = field(default=0, repr=False)
    _store: bytes = field(default=b"\0\0\0\0", repr=False)
    _store_port: int = field(default=0, repr=False)
    _properties: dict[str, str] | None = field(default=None, repr=False, compare=False)

    @property
    def body(self) -> bytes:
        """The body as it was sent; decompressed at every call, so store it. MessageError if that is
        not possible.
        """
        if not self.sys_flag & COMPRESSED:
            return self.raw_body
        return b"".join(_chunks(self.raw_body, self.sys_flag, MAX_BODY))

    @property
    def properties(self) -> dict[str, str]:
        """All properties by name; the dict is the message's own."""
        if self._properties is None:
            self._properties = read_properties(self.raw_properties)
        return self._properties

    @property
    def tags(self) -> str | None:
        """Tag of the message; a message has one tag, despite Java's plural name."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        """Keys given by the sender."""
        return self.properties.get(KEYS, "").split()

    @property
    def unique_key(self) -> str | None:
        """Id given by the client of the sender."""
        return self.properties.get(UNIQUE_KEY)

    @property
    def msg_id(self) -> str:
        """Id for consumers: the unique key, else `offset_msg_id`."""
        return self.unique_key or self.offset_msg_id

    @property
    def offset_msg_id(self) -> str:
        """Id by where it is stored: address and offset in hexadecimal digits; Java's
        ``createMessageId``.
        """
        where = (
            self._store
            + self._store_port.to_bytes(4, signed=True)
            + self.commit_log_offset.to_bytes(8, signed=True)
        )
        return where.hex().upper()

    @property
    def born_host(self) -> str:
        """``host:port`` of the sender."""
        return _host(self._born, self._born_port)

    @property
    def store_host(self) -> str:
        """``host:port`` of the storing broker."""
        return _host(self._store, self._store_port)

    @property
    def retry_topic(self) -> str | None:
        """Topic that it was first read from, if it was sent back."""
        return self.properties.get(RETRY_TOPIC)

    @property
    def real_topic(self) -> str | None:
        """Topic that it was sent to, if the broker stored it elsewhere meanwhile (delays,
        transactions).
        """
        return self.properties.get(REAL_TOPIC)

    def check_body(self) -> None:
        """Compare the body with its checksum; Java's consumer does not."""
        if zlib.crc32(self.raw_body) & _CRC != self.body_crc & _CRC:
            raise MessageError(
                f"the body of message {self.offset_msg_id} does not have the checksum that came with it"
            )


def read_properties(data: bytes) -> dict[str, str]:
    """Return properties by name. A part that is not a pair is ignored and costs no other property,
    as in Java's ``string2messageProperties``. Bytes that are not UTF-8 become U+FFFD.

    Examples
    --------
    >>> read_properties(b"TAGS\\x01paid\\x02UNIQ_KEY\\x017F\\x02")
    {'TAGS': 'paid', 'UNIQ_KEY': '7F'}
    """
    found = {}
    for part in data.decode(errors="replace").split("\2"):
        name, _, value = part.partition("\1")
        if name and value:
            found[name] = value
    return found


def decode_messages(data: bytes) -> list[Message]:
    """Return the messages in the body of an answer to a pull; Java's
    ``MessageDecoder.decodes``.

    A truncated last message is omitted, as in Java. A batch of a producer is returned as the
    messages in it. `MessageReader` skips unreadable messages, and reads in steps.

    Raises
    ------
    MessageError
        A message is not a message, the first message is truncated, or there are more than
        `MAX_MESSAGES`.

    Examples
    --------
    >>> decode_messages(encode_message(Message("orders", b"42", b"TAGS\\x01paid\\x02", queue_offset=7)))[0].queue_offset
    7
    """
    reader = MessageReader(data)
    for _ in reader.steps():
        pass
    error = reader.first_error or reader.stopped_by
    if error is not None and not (reader.messages and isinstance(error, _CutError)):
        raise error
    return reader.messages


def decode_message(data: bytes) -> Message:
    """Return a single message, whole and as received: a batch stays a batch.

    Raises
    ------
    MessageError
        The bytes are not a message, or there are more of them.

    Examples
    --------
    >>> decode_message(encode_message(Message("orders", b"42"))).body
    b'42'
    """
    message, end = _message(data, 0)
    if end < len(data):
        raise MessageError(f"a single message was expected, and {len(data) - end} bytes follow it")
    return message


class MessageReader:
    """Read the messages of an answer to a pull in steps, and skip unreadable messages.

    Parameters
    ----------
    data : bytes
        Body of the answer.
    begin, end : int
        Offset of the pull, and offset of the next pull from the answer. A message with an
        offset outside of this range, or that does not rise, is unreadable; messages of a batch
        before ``begin`` were pulled before.

    Attributes
    ----------
    messages : list of Message
        The messages.
    n_undecodable : int
        Unreadable messages. The rest of a batch counts once.
    first_error : MessageError or None
        Error of the first unreadable message.
    first_undecodable : int
        Its offset: its own if that is possible, otherwise the offset after the message before it.
    following : int
        Offset of the next pull: ``end``, or before it if the answer was not read to its end.
    stopped_by : MessageError or None
        Reason why the answer was not read to its end.

    Examples
    --------
    >>> first, bad, last = (bytearray(encode_message(Message("orders", queue_offset=i))) for i in range(3))
    >>> bad[4:8] = b"????"
    >>> reader = MessageReader(bytes(first + bad + last), 0, 3)
    >>> [*reader.steps()], len(reader.messages), reader.n_undecodable, reader.first_undecodable, reader.following
    ([], 2, 1, 1, 3)
    """

    __slots__ = (
        "_begin", "_data", "_end", "_is_in_order", "_n_unpacked", "_passed", "first_error", "first_undecodable", "following",
        "messages", "n_undecodable", "stopped_by",
    )  # fmt: skip

    def __init__(self, data: bytes, begin: int = _LEAST, end: int = 1 << 63) -> None:
        self._data, self._begin, self._end = data, begin, end
        self._is_in_order = begin > _LEAST
        self._passed = begin - 1
        self._n_unpacked = 0
        self.messages: list[Message] = []
        self.n_undecodable, self.first_undecodable = 0, begin
        self.first_error: MessageError | None = None
        self.following = end
        self.stopped_by: MessageError | None = None

    def steps(self) -> Iterator[None]:
        """Read the answer; yield after each step except the last."""
        data, messages, begin, end = self._data, self.messages, self._begin, self._end
        at, size, pause = 0, len(self._data), _STEP
        last = self._last
        while at < size:
            try:
                message, at = _message(data, at)
            except MessageError as error:
                at = self._behind(at, error)
                if self.stopped_by is not None:
                    break
            else:
                offset = message.queue_offset
                if offset <= last and self._replaces_last(offset):
                    last = self._last
                if message.sys_flag & _BATCH == _BATCH:
                    yield from self._unwrap(message)
                    last = self._last
                    if self.stopped_by is not None or len(messages) > MAX_MESSAGES:
                        break
                elif last < offset < end:
                    messages.append(message)
                    if self._is_in_order:
                        last = offset
                else:
                    self._pass(_misplaced(message, begin, end))
            if at >= pause:
                pause = at + _STEP
                if len(messages) > MAX_MESSAGES:
                    break
                yield
        if len(messages) > MAX_MESSAGES:
            self._stop(
                messages[MAX_MESSAGES].queue_offset,
                MessageError(f"an answer has more than {MAX_MESSAGES:,} messages"),
            )
            del messages[MAX_MESSAGES:]

    @property
    def _last(self) -> int:
        """The offset of the last message; anything goes where nobody knows where the answer begins."""
        return (
            self.messages[-1].queue_offset
            if self.messages and self._is_in_order
            else self._begin - 1
        )

    def _replaces_last(self, offset: int) -> bool:
        """Pass over the last message if a further one shows that its offset is wrong.

        Offsets rise in an answer. Where one does not, the message before it is wrong if the two
        around it rise, and of two with one offset the one after a gap.
        """
        messages = self.messages
        if not messages or not self._is_in_order:
            return False
        previous = messages[-2].queue_offset if len(messages) > 1 else self._begin - 1
        last = messages[-1].queue_offset
        if not previous < offset or (offset == last and last == previous + 1):
            return False
        self._pass(_misplaced(messages.pop(), previous + 1, offset), previous + 1)
        return True

    @property
    def _expected(self) -> int:
        """The offset after everything that was read or passed."""
        return (
            max(self.messages[-1].queue_offset if self.messages else self._passed, self._passed) + 1
        )

    def _behind(self, at: int, error: MessageError) -> int:
        """Pass over the message at a position and return where the next one begins; stop where that
        is not known.
        """
        data = self._data
        own = int.from_bytes(data[at + 20 : at + 28], signed=True)
        offset = own if self._expected <= own < self._end else self._expected
        following = at + int.from_bytes(data[at : at + 4], signed=True)
        is_known = following > at and (
            following == len(data) or data[following + 4 : following + 8] in _MAGICS
        )
        if is_known:
            self._pass(error, offset)
        elif at == 0:
            self._pass(error, offset)
            self._stop(offset + 1, error)
        else:  # the next pull has it in front
            self._stop(self._expected, error)
        return following

    def _pass(self, error: MessageError, offset: int | None = None) -> None:
        """Count a message that cannot be read."""
        offset = self._expected if offset is None else offset
        if self.first_error is None:
            self.first_error, self.first_undecodable = error, offset
        self.n_undecodable += 1
        self._passed = min(offset, self._end - 1)

    def _stop(self, offset: int, error: MessageError) -> None:
        """Leave the rest of the answer to a pull that begins at an offset."""
        self.following, self.stopped_by = max(self._begin + 1, min(offset, self._end)), error

    # --- Batches ---

    def _unwrap(self, batch: Message) -> Iterator[None]:
        """Read the messages in one; Java's ``MessageDecoder.decodeMessage``. One that cannot be
        decompressed stays one message, which its listener finds out.
        """
        if batch.queue_offset >= self._end:  # it may begin before the offset that was asked for
            self._pass(_misplaced(batch, self._begin, self._end))
            return
        parts: list[bytes] = []
        if batch.sys_flag & COMPRESSED:
            try:
                for part in _chunks(batch.raw_body, batch.sys_flag, MAX_BODY - self._n_unpacked):
                    parts.append(part)
                    yield
            except MessageError as error:
                if self._n_unpacked and isinstance(error, _TooLongError):
                    self._stop(self._expected, error)
                elif batch.queue_offset > self._last:
                    self.messages.append(batch)
                return
        data = b"".join(parts) if parts else batch.raw_body
        self._n_unpacked += len(data)
        yield from self._inner(batch, data)

    def _inner(self, batch: Message, data: bytes) -> Iterator[None]:
        at, pause, offset, last = 0, _BATCH_STEP, batch.queue_offset, self._last
        bits = batch.sys_flag & ~(COMPRESSED | _BATCH)
        try:
            while at < len(data):
                _, _, _, flag, length = _INNER.unpack_from(data, at)
                body_at = at + _INNER.size
                properties_at = body_at + length + 2
                at = properties_at + max(0, _SHORT.unpack_from(data, properties_at - 2)[0])
                if length < 0 or at > len(data) or offset >= self._end:
                    raise IndexError(at)
                if offset > last:
                    body, properties = data[body_at : properties_at - 2], data[properties_at:at]
                    self.messages.append(
                        Message(
                            batch.topic, body, properties, batch.queue_id, offset, batch.commit_log_offset, bits, flag,
                            batch.born_timestamp, batch.store_timestamp, batch.reconsume_times, zlib.crc32(body) & _CRC,
                            batch.store_size, batch.prepared_transaction_offset, "",
                            batch._born, batch._born_port, batch._store, batch._store_port,
                        )
                    )  # fmt: skip
                offset += 1
                if at >= pause:
                    pause = at + _BATCH_STEP
                    if len(self.messages) > MAX_MESSAGES:
                        return
                    yield
        except (StructError, IndexError):
            self._pass(
                MessageError(
                    f"the batch {batch.offset_msg_id} contains bytes that are not messages"
                )
            )


class _CutError(MessageError):
    """The bytes end within a message."""


class _TooLongError(MessageError):
    """A body that becomes too long."""


def _misplaced(message: Message, begin: int, end: int) -> MessageError:
    return MessageError(
        f"it claims offset {message.queue_offset}, the answer holds {begin} to {end - 1}"
    )


def _message(data: bytes, at: int) -> tuple[Message, int]:
    """Return the message at a position, and where the next one begins."""
    try:
        values = _PLAIN.unpack_from(data, at)
        layout = _PLAIN
        if flags := values[7] & _V6:
            layout = _LAYOUTS[flags]
            values = layout.unpack_from(data, at)
        (
            size, magic, crc, queue_id, flag, queue_offset, physical, sys_flag, born_at, born, born_port,
            stored_at, store, store_port, reconsumed, prepared, body_length,
        ) = values  # fmt: skip
        body_at = at + layout.size
        topic_at = body_at + body_length
        if magic == MAGIC_V1:
            topic_at, topic_length = topic_at + 1, data[topic_at]
        elif magic == MAGIC_V2:
            topic_length = _SHORT.unpack_from(data, topic_at)[0]
            topic_at += 2
        else:
            raise MessageError(
                f"byte {at} begins no message: its magic code is {magic}, not {MAGIC_V1} or {MAGIC_V2}"
            )
        if body_length < 0 or topic_length < 0:
            raise MessageError(
                f"the message at byte {at} has a body of {body_length} and a topic of {topic_length} bytes"
            )
        properties_at = topic_at + topic_length + 2
        end = properties_at + max(0, _SHORT.unpack_from(data, properties_at - 2)[0])
        if end != at + size or end > len(data):
            raise (
                _CutError(_cut(data, at))
                if at + size > len(data)
                else MessageError(
                    f"the message at byte {at} has {end - at} bytes and claims to have {size}"
                )
            )
        topic = intern(data[topic_at : properties_at - 2].decode())
    except (StructError, IndexError):
        raise _CutError(_cut(data, at)) from None
    except UnicodeDecodeError:
        raise MessageError(f"the topic of the message at byte {at} is not UTF-8") from None
    return Message(
        topic, data[body_at : body_at + body_length], data[properties_at:end], queue_id, queue_offset, physical, sys_flag,
        flag, born_at, stored_at, reconsumed, crc, size, prepared, "", born, born_port, store, store_port,
    ), end  # fmt: skip


def _cut(data: bytes, at: int) -> str:
    return f"the {'message at byte {at}' if at else 'first message'} is cut: {len(data) - at} bytes came"


def encode_message(message: Message) -> bytes:
    """Return a message in the form that a broker sends; Java's ``MessageDecoder.encode``.

    Examples
    --------
    >>> len(encode_message(Message("orders", b"42")))
    99
    """
    topic = message.topic.encode()
    is_long = len(topic) > 127
    layout = _LAYOUTS[message.sys_flag & _V6]
    rest = (_SHORT.pack(len(topic)) if is_long else bytes([len(topic)])) + topic
    rest += _SHORT.pack(len(message.raw_properties)) + message.raw_properties
    size = layout.size + len(message.raw_body) + len(rest)
    crc = message.body_crc or zlib.crc32(message.raw_body) & _CRC
    head = layout.pack(
        size, MAGIC_V2 if is_long else MAGIC_V1, crc, message.queue_id, message.flag, message.queue_offset,
        message.commit_log_offset, message.sys_flag, message.born_timestamp, message._born, message._born_port,
        message.store_timestamp, message._store, message._store_port, message.reconsume_times,
        message.prepared_transaction_offset, len(message.raw_body),
    )  # fmt: skip
    return head + message.raw_body + rest


def tagged(messages: Iterable[Message], tags: Collection[str]) -> list[Message]:
    """Return the messages with one of some tags, all messages without tags; brokers compare only
    hashes of tags.

    Java's ``PullAPIWrapper.processPullResult``; ``tags`` are those of a `SubscriptionData`.

    Examples
    --------
    >>> messages = [Message("orders", raw_properties=b"TAGS\\x01paid\\x02"), Message("orders")]
    >>> len(tagged(messages, {"paid"})), len(tagged(messages, ()))
    (1, 2)
    """
    return [one for one in messages if one.tags in tags] if tags else list(messages)


def _host(address: bytes, port: int) -> str:
    host = ipaddress.ip_address(address)
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"


def _chunks(data: bytes, sys_flag: int, most: int) -> Iterator[bytes]:
    """Yield the parts of a body of at most so many bytes; Java's ``CompressorFactory``."""
    kind = sys_flag & _COMPRESSION
    if kind not in _DECOMPRESSORS:
        raise MessageError(f"a body is compressed by an unknown method: {kind >> 8}")
    name, decompress = _DECOMPRESSORS[kind]
    n_bytes = 0
    try:
        for part in decompress(data, min(_CHUNK, most + 1)):
            n_bytes += len(part)
            if n_bytes > most:
                raise _TooLongError(f"a body has more than {most} bytes after decompression")
            yield part
    except _TooLongError:
        raise
    except ImportError as error:
        raise MessageError(
            f"a body is compressed by {name}; to read it, install the package {error.name}"
        ) from None
    except Exception as error:  # each package has errors of its own
        raise MessageError(f"a body is not valid {name}: {error}") from error


def _zlib(data: bytes, size: int) -> Iterator[bytes]:
    reader = zlib.decompressobj()
    while not reader.eof:
        part = reader.decompress(data, size)
        data = reader.unconsumed_tail
        if not part and not data and not reader.eof:
            raise EOFError("it is cut")
        yield part


def _lz4(data: bytes, size: int) -> Iterator[bytes]:
    reader = import_module("lz4.frame").LZ4FrameDecompressor()
    yield reader.decompress(data, size)
    while not reader.eof:
        if reader.needs_input:
            raise EOFError("it is cut")
        yield reader.decompress(b"", size)


def _zstd(data: bytes, size: int) -> Iterator[bytes]:
    reader = import_module("zstandard").ZstdDecompressor(max_window_size=MAX_BODY)
    stream = reader.stream_reader(data)
    while part := stream.read(size):
        yield part


_DECOMPRESSORS: dict[int, tuple[str, Callable[[bytes, int], Iterator[bytes]]]] = {
    0: ("zlib", _zlib),  # of producers before the other methods were known
    1 << 8: ("LZ4", _lz4),
    2 << 8: ("Zstandard", _zstd),
    3 << 8: ("zlib", _zlib),
}
