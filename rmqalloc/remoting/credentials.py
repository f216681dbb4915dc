"""Keys for clusters that require them, read from a file or the environment and never from an
argument.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from rmqalloc.documents import DocumentError, read_document

ACCESS_KEY, SECRET_KEY, TOKEN = (
    "RMQALLOC_ACCESS_KEY",
    "RMQALLOC_SECRET_KEY",
    "RMQALLOC_SECURITY_TOKEN",
)
_FIELDS = {"accessKey": "access_key", "secretKey": "secret_key", "securityToken": "security_token"}


class CredentialsError(DocumentError):
    """Keys are missing, or the file does not contain keys."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key and its secret; the secret is never shown.

    Notes
    -----
    ``org.apache.rocketmq.acl.common.AclUtils`` and ``AclClientRPCHook``: the values of the fields in the order of their
    names, then the body, by HMAC-SHA1.
    """

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)

    def signed(self, ext_fields: Mapping[str, str], body: bytes) -> dict[str, str]:
        """Return the fields of a request with its signature."""
        signed = dict(ext_fields) | {"AccessKey": self.access_key}
        if self.security_token is not None:
            signed["SecurityToken"] = self.security_token
        content = (
            "".join(signed[key] for key in sorted(signed) if key != "Signature").encode() + body
        )
        digest = hmac.new(self.secret_key.encode(), content, hashlib.sha1).digest()
        return signed | {"Signature": base64.b64encode(digest).decode()}


def read_credentials(path: str | os.PathLike[str] | None = None) -> Credentials | None:
    """Return credentials from a file, else from the environment, else None."""
    if path is None:
        found = {
            name: os.environ.get(key)
            for name, key in zip(_FIELDS.values(), (ACCESS_KEY, SECRET_KEY, TOKEN), strict=True)
        }
        origin = f"{ACCESS_KEY} and {SECRET_KEY}"
        if not found["access_key"] and not found["secret_key"]:
            return None
    else:
        found, origin = _of_file(path), str(path)
    access_key, secret_key = found.get("access_key"), found.get("secret_key")
    if not access_key or not secret_key:
        raise CredentialsError(
            f"{origin} must give both an access key and a secret key; one is missing"
        )
    return Credentials(access_key, secret_key, found.get("security_token") or None)


def _of_file(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the keys of a file; what else it holds is RocketMQ's. No message shows a value, for it
    may be a secret.
    """
    document = read_document(path, CredentialsError, otherwise="yaml", words=True)
    if not isinstance(document.data, Mapping):
        raise document.located(CredentialsError(f"must be a mapping of {', '.join(_FIELDS)}"))
    for key in _FIELDS:
        if not isinstance(document.data.get(key), str | None):
            raise document.located(CredentialsError("must be text", key))
    return {name: document.data.get(key) for key, name in _FIELDS.items()}


def tls_context(
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    verify: bool = True,
) -> ssl.SSLContext:
    """Return a TLS context. The server is verified by its chain and its host name, unless ``verify``
    is False.
    """
    context = ssl.create_default_context(cafile=ca)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context
