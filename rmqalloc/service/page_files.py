"""The files of the page, as they lie in the package: all that is below ``/static/``, read once,
never a path of a request's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

INDEX = "index.html"


class PageFile(NamedTuple):
    """One file: its bytes and its media type."""

    content: bytes
    media_type: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """Return the files of the page by their names."""
    if not _FOLDER.is_dir():
        return {}
    files = (path for path in _FOLDER.iterdir() if path.suffix in _TYPES)
    return {path.name: PageFile(path.read_bytes(), _TYPES[path.suffix]) for path in sorted(files)}
