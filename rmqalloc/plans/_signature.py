"""Signatures of saved plans: HMAC-SHA256 over the canonical bytes of all but the digest and the
signature itself.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path

from rmqalloc.documents import DocumentError

__all__ = ["VerificationError", "is_signed", "read_key", "signing", "text_of"]

_MIN_KEY_BYTES = 32
_BY = "hmac-sha256:"


class VerificationError(DocumentError):
    """A file holds no key."""


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Return the key in a file, without white space around it.

    Raises
    ------
    OSError
        The file cannot be read.
    VerificationError
        The key is too short.
    """
    key = Path(path).read_bytes().strip()
    if len(key) < _MIN_KEY_BYTES:
        raise VerificationError(
            f"{path} holds a key of {len(key)} bytes; at least {_MIN_KEY_BYTES} are needed, such as "
            "`openssl rand -hex 32` gives"
        )
    return key


def signing(key: bytes) -> hmac.HMAC:
    """Return what signs the bytes that it is given."""
    return hmac.new(key, digestmod=hashlib.sha256)


def text_of(signed: hmac.HMAC) -> str:
    """Return a signature as a plan's file holds it."""
    return _BY + signed.hexdigest()


def is_signed(pieces: Iterable[str], signature: str, key: bytes) -> bool:
    """Return whether a signature is of that text and by this key.

    Examples
    --------
    >>> key = b"k" * 32
    >>> (made := signing(key)).update(b"plan")
    >>> is_signed(["pl", "an"], text_of(made), key), is_signed(["plans"], text_of(made), key)
    (True, False)
    """
    made = signing(key)
    for piece in pieces:
        made.update(piece.encode())
    return hmac.compare_digest(text_of(made).encode(), signature.encode())
