"""Lists in docstrings of modules, a name in a line and its text indented below, as lists of Markdown."""

import re
from typing import Any

import griffe

_ITEM = re.compile(r"^(``?\w.*)\n((?: {4}.+\n?)+)", re.MULTILINE)


class DocstringLists(griffe.Extension):  # type: ignore[misc]
    """Rewrites the docstring of every module when it is read."""

    def on_module(self, *, mod: griffe.Module, **_: Any) -> None:
        """Called with a module that is complete."""
        if mod.docstring is not None:
            mod.docstring.value = _ITEM.sub(_item, mod.docstring.value)


def _item(found: re.Match[str]) -> str:
    return f"- {found[1]}: {' '.join(found[2].split())}\n"
