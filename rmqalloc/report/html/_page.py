"""The frame of a page: one file that loads nothing, runs nothing but its own script, and says so in its policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

import pyarrow as pa

from rmqalloc._text import counted
from rmqalloc.report.html._page_script import SORTING
from rmqalloc.report.html._page_tables import html_table
from rmqalloc.report.html._style import style_sheet
from rmqalloc.results._markup import escaped
from rmqalloc.results._terminal import is_number


def page(title: str, body: str) -> str:
    """A whole HTML document.

    Parameters
    ----------
    title : str
        Its name, plain text.
    body : str
        Markup, with every name in it escaped.

    Returns
    -------
    str
        A document whose policy lets nothing be loaded or sent, and no style and no script be used but the page's own two,
        which it names by their hashes: markup that got in would neither run nor change the page's look.
    """
    style = style_sheet()
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(SORTING)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
{body}
<script>{SORTING}</script>
</body>
</html>
"""


def table_page(shown: pa.Table) -> Iterator[str]:
    """A page with one table in it."""
    heads = [(field.name, is_number(field.type)) for field in shown.schema]
    rows = zip(*(column.to_pylist() for column in shown.columns), strict=True)
    caption = counted(shown.num_rows, "row")
    yield page(
        "rmqalloc", f'<main id="main"><section><h1>rmqalloc</h1>{html_table(caption, heads, rows)}</section></main>'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
