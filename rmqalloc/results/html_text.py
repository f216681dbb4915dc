"""Text in the page. Every name goes through `name` or `escaped`; what is made here is markup and is
not escaped again.
"""

from __future__ import annotations

from html import escape

from rmqalloc.results.renderer import NOTHING, is_skew, skew_text
from rmqalloc.text import printable, shortened

SHOWN, IN_TITLE = 48, 400


def escaped(text: str) -> str:
    """Return text as the content of an element or of a quoted attribute, all that is not visible
    written as escapes.

    Examples
    --------
    >>> escaped('<b title="x">\\u202e')
    '&lt;b title=&quot;x&quot;&gt;\\\\u202e'
    """
    return escape(printable(text), quote=True)


def name(text: str, most: int = SHOWN) -> str:
    """Return a name as its own element, which isolates its writing direction; long names are
    shortened.

    Examples
    --------
    >>> name("orders")
    '<bdi>orders</bdi>'
    >>> name("a-very-long-name", 9)
    '<bdi title="a-very-long-name">a-ve…name</bdi>'
    """
    shown = printable(text)
    if len(shown) <= most:
        return f"<bdi>{escape(shown)}</bdi>"
    title = (
        shown
        if len(shown) <= IN_TITLE
        else f"{shortened(shown, IN_TITLE)} ({len(text):,} characters)"
    )
    return f'<bdi title="{escape(title, quote=True)}">{escape(shortened(shown, most))}</bdi>'


def number(value: float | int | str | None, column: str = "") -> str:
    """Return a number of a column for people; a text in its place, such as "not known", as it is.

    Examples
    --------
    >>> number(1234567), number(1.5), number(2.0), number(2.0, "skew"), number(None)
    ('1,234,567', '1.5', '2', '2.00', '–')
    """
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return NOTHING
    if is_skew(column):
        return skew_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:,.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
