"""Names made harmless, for they come from the network and may hold anything; and numbers with their nouns."""

from collections.abc import Sequence

__all__ = ["counted", "named", "printable", "shortened"]


def printable(name: str) -> str:
    """A name as it may be shown to people.

    Whatever is not plainly visible (control and escape characters, line breaks, marks that turn the direction of
    writing, lone surrogates) is written as its Python escape, and a backslash is doubled, so no escape is ambiguous.

    Examples
    --------
    >>> print(printable("10.0.0.1@1\\x1b[2J"))
    10.0.0.1@1\\x1b[2J
    """
    name = name.replace("\\", "\\\\")
    return name if name.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def shortened(text: str, most: int) -> str:
    """The text in ``most`` characters at most, both of its ends kept: they tell hosts and processes apart.

    Examples
    --------
    >>> shortened("order-service-7d9f8b-x2kq9@41", 16)
    'order-se…2kq9@41'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "queue"), counted(1200, "queue"), counted(0, "entry", "entries")
    ('1 queue', '1,200 queues', '0 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def named(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
