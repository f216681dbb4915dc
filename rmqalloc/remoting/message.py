"""Messages as brokers answer pulls with them; Java's ``MessageDecoder`` and ``MessageExt``.

A pull answers with hundreds of messages, of which a listener looks at few fields. So the fixed part
of a message is read at once, and its body and properties are kept as bytes until somebody asks for
them.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
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
"""Second number of a message; with the second, a topic may have more than 127 bytes. Java's ``MessageVersion``."""

MAX_BODY = 64 << 20
"""Bytes of a body at most, once it is decompressed; brokers take 4 MiB unless they are configured otherwise."""

TAGS, KEYS, UNIQUE_KEY, RETRY_TOPIC, REAL_TOPIC = (
    "TAGS",
    "KEYS",
    "UNIQ_KEY",
    "RETRY_TOPIC",
    "REAL_TOPIC",
)
"""Properties that RocketMQ itself sets and reads; Java's ``MessageConst``."""


class MessageError(Error, ValueError):
    """Bytes that are no message, or a body that cannot be read."""


def _layout(born: int, store: int) -> Struct:
    return Struct(f">iiiiiqqiq{born}siq{store}siiqi")


_LAYOUTS = {
    flags: _layout(16 if flags & BORN_V6 else 4, 16 if flags & STORE_V6 else 4)
    for flags in (0, BORN_V6, STORE_V6, _V6)
}
_PLAIN, _SHORT = _LAYOUTS[0], Struct(">h")
_INNER = Struct(
    ">iiiii"
)  # of a message within another one: size, magic code, checksum, flag, length of the body


@dataclass(slots=True)
class Message:
    """One message; Java's ``MessageExt``.

    Attributes
    ----------
    topic : str
        What it was read from; the topic of a group's retries where it was sent back, see
        `retry_topic`.
    raw_body : bytes
        As it came; `body` is decompressed.
    raw_properties : bytes
        As they came; see `properties`.
    queue_id, queue_offset : int
        Where it stands.
    commit_log_offset : int
        Where its broker stores it.
    sys_flag, flag : int
        RocketMQ's own bits, and the sender's.
    born_timestamp, store_timestamp : int
        When it was sent and stored, in milliseconds.
    reconsume_times : int
        How often it was sent back before.
    body_crc : int
        Checksum of ``raw_body``, see `check_body`.
    store_size : int
        Bytes that it has in all.
    prepared_transaction_offset : int
        Of a transaction.
    broker_name : str
        Broker that it was pulled from, set by who pulls: no message says it.

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
        """The body as it was sent; decompressed at every call, so keep it. MessageError if that is
        not possible.
        """
        return (
            _decompressed(self.raw_body, self.sys_flag)
            if self.sys_flag & COMPRESSED
            else self.raw_body
        )

    @property
    def properties(self) -> dict[str, str]:
        """All properties by name; the dict is the message's own."""
        if self._properties is None:
            self._properties = read_properties(self.raw_properties)
        return self._properties

    @property
    def tags(self) -> str | None:
        """Its tag; a message has one, whatever Java calls it."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        """Keys that its sender gave it."""
        return self.properties.get(KEYS, "").split()

    @property
    def unique_key(self) -> str | None:
        """Id that its sender's client gave it."""
        return self.properties.get(UNIQUE_KEY)

    @property
    def msg_id(self) -> str:
        """What consumers call its id: its unique key, else `offset_msg_id`."""
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
        """``host:port`` that sent it."""
        return _host(self._born, self._born_port)

    @property
    def store_host(self) -> str:
        """``host:port`` of the broker that stored it."""
        return _host(self._store, self._store_port)

    @property
    def retry_topic(self) -> str | None:
        """Topic that it was first read from, if it was sent back."""
        return self.properties.get(RETRY_TOPIC)

    @property
    def real_topic(self) -> str | None:
        """Topic that it was sent to, where the broker kept it elsewhere meanwhile (delays,
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
    """Return properties by name; a part that is no pair is passed over, as by Java's
    ``string2messageProperties``.

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
    """Return the messages of the body that a pull is answered with; Java's
    ``MessageDecoder.decodes``.

    A last message that is cut is left out, as by Java; who pulls goes on after the last one that it
    got. A batch that a producer sent as one is returned as the messages in it.

    Raises
    ------
    MessageError
        Something else than a message stands there, or not even the first one is whole.

    Examples
    --------
    >>> decode_messages(encode_message(Message("orders", b"42", b"TAGS\\x01paid\\x02", queue_offset=7)))[0].queue_offset
    7
    """
    messages: list[Message] = []
    at, end = 0, len(data)
    while at < end:
        try:
            message, at = _message(data, at)
        except (StructError, IndexError) as error:
            if not messages:
                raise MessageError(f"the first message is cut: {end} bytes came") from error
            break
        if message.sys_flag & _BATCH == _BATCH:
            messages += _unwrapped(message)
        else:
            messages.append(message)
    return messages


def _message(data: bytes, at: int) -> tuple[Message, int]:
    """Return the message at a position, and where the next one begins; IndexError or struct.error
    if it is cut.
    """
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
    if end > len(data):
        raise IndexError(end)
    try:
        topic = intern(data[topic_at : properties_at - 2].decode())
    except UnicodeDecodeError:
        raise MessageError(f"the topic of the message at byte {at} is not UTF-8") from None
    return Message(
        topic, data[body_at : body_at + body_length], data[properties_at:end], queue_id, queue_offset, physical, sys_flag,
        flag, born_at, stored_at, reconsumed, crc, size, prepared, "", born, born_port, store, store_port,
    ), end  # fmt: skip


def _unwrapped(batch: Message) -> list[Message]:
    """Return the messages in one; Java's ``MessageDecoder.decodeMessage``. A body that cannot be
    read stays one message.
    """
    try:
        data = batch.body
    except MessageError:
        return [batch]
    messages: list[Message] = []
    at = 0
    try:
        while at < len(data):
            _, _, _, flag, length = _INNER.unpack_from(data, at)
            body_at = at + _INNER.size
            properties_at = body_at + length + 2
            at = properties_at + max(0, _SHORT.unpack_from(data, properties_at - 2)[0])
            if length < 0 or at > len(data):
                raise IndexError(at)
            body, properties = data[body_at : body_at + length], data[properties_at:at]
            offset = batch.queue_offset + len(messages)
            bits = batch.sys_flag & ~(COMPRESSED | _BATCH)
            messages.append(
                replace(
                    batch, raw_body=body, raw_properties=properties, queue_offset=offset, sys_flag=bits, flag=flag,
                    body_crc=zlib.crc32(body) & _CRC, _properties=None,
                )
            )  # fmt: skip
    except (StructError, IndexError):
        raise MessageError(
            f"the batch {batch.offset_msg_id} holds something else than messages"
        ) from None
    return messages


def encode_message(message: Message) -> bytes:
    """Return a message as a broker sends it; Java's ``MessageDecoder.encode``.

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
    """Return the messages with one of some tags, all where there are none; brokers compare hashes
    of tags alone.

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


def _decompressed(data: bytes, sys_flag: int) -> bytes:
    """Return a body of at most `MAX_BODY` bytes; Java's ``CompressorFactory``."""
    kind = sys_flag & _COMPRESSION
    if kind not in _DECOMPRESSORS:
        raise MessageError(f"a body is compressed by a method that is not known: {kind >> 8}")
    name, decompress = _DECOMPRESSORS[kind]
    try:
        body, is_whole = decompress(data)
    except ImportError as error:
        raise MessageError(
            f"a body is compressed by {name}; to read it, install the package {error.name}"
        ) from None
    except Exception as error:  # each package has errors of its own
        raise MessageError(f"a body is not the {name} that it should be: {error}") from error
    if len(body) > MAX_BODY:
        raise MessageError(f"a body has more than {MAX_BODY} bytes when it is decompressed")
    if not is_whole:
        raise MessageError(f"a body is not the {name} that it should be: it is cut")
    return body


def _zlib(data: bytes) -> tuple[bytes, bool]:
    reader = zlib.decompressobj()
    return reader.decompress(data, MAX_BODY + 1), reader.eof


def _lz4(data: bytes) -> tuple[bytes, bool]:
    reader = import_module("lz4.frame").LZ4FrameDecompressor()
    return reader.decompress(data, MAX_BODY + 1), reader.eof


def _zstd(data: bytes) -> tuple[bytes, bool]:
    reader = (
        import_module("zstandard").ZstdDecompressor(max_window_size=MAX_BODY).stream_reader(data)
    )
    return reader.read(MAX_BODY + 1), True


_DECOMPRESSORS: dict[int, tuple[str, Callable[[bytes], tuple[bytes, bool]]]] = {
    0: ("zlib", _zlib),  # of producers before the other methods were known
    1 << 8: ("LZ4", _lz4),
    2 << 8: ("Zstandard", _zstd),
    3 << 8: ("zlib", _zlib),
}
