"""Names made harmless, for they come from the network and may hold anything; and numbers with their
nouns.
"""

import re
from collections.abc import Iterable
from itertools import islice

__all__ = [
    "counted",
    "did_you_mean",
    "harmless",
    "is_formula",
    "message",
    "natural_key",
    "nearest",
    "printable",
    "quoted",
    "shortened",
]

_NUMBER = re.compile("([0-9]+)")
_FORMULA = "=+-@＝＋－＠"
MOST_SAID = 4000
"""Characters of one message at most; a server's remark may be as long as its frame."""

_LONGEST_COMPARED = 100
_MOST_COMPARED = 20_000


def without_secrets(where: str) -> str:
    """Return a path, or a URI without its user, password and settings, which may be keys.

    Examples
    --------
    >>> without_secrets("s3://key:secret@lake/fleet?region=eu-central-1"), without_secrets("a?b@c")
    ('s3://lake/fleet', 'a?b@c')
    """
    scheme, is_uri, rest = where.partition("://")
    if not is_uri:
        return where
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def printable(name: str) -> str:
    """Return a name as it may be shown to people.

    Whatever is not plainly visible (control and escape characters, line breaks, marks that turn the
    direction of writing, lone surrogates) is written as its Python escape, and a backslash is
    doubled, so no escape is ambiguous.

    Examples
    --------
    >>> print(printable("10.0.0.1@1\\x1b[2J"))
    10.0.0.1@1\\x1b[2J
    """
    name = name.replace("\\", "\\\\")
    return (
        name
        if name.isprintable()
        else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    )


def harmless(text: str) -> str:
    """Return our lines as they may go to a terminal: line breaks stay, all else that is not plainly
    visible is escaped.

    Names within them are made `printable` where the lines are put together; this is for the one
    that was forgotten. It doubles no backslash, so what is escaped already stays as it is.

    Examples
    --------
    >>> print(harmless("Group g\\x1b[2J\\n  1 queue"))
    Group g\\x1b[2J
      1 queue
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


def message(text: str, most: int = MOST_SAID) -> str:
    """Return what somebody else says in one line of ``most`` characters at most, both of its ends
    kept.

    Examples
    --------
    >>> print(message("refused\\r\\nrmqalloc: all is well"))
    refused\\r\\nrmqalloc: all is well
    """
    return shortened(harmless(shortened(text, most)).replace("\n", "\\n"), most)


def is_formula(text: str) -> bool:
    """Return True if a spreadsheet may take a cell for a formula, and run it where the file is
    opened.

    Examples
    --------
    >>> [is_formula(text) for text in ("=1+1", " @SUM(A1)", "\\t=A1", "-", "a=1", "")]
    [True, True, True, True, False, False]
    """
    return text[:1] in ("\t", "\r") or (bool(text.strip()) and text.lstrip()[:1] in _FORMULA)


def shortened(text: str, most: int) -> str:
    """Return the text in ``most`` characters at most, both of its ends kept: they tell hosts and
    processes apart.

    Examples
    --------
    >>> shortened("order-service-7d9f8b-x2kq9@41", 16)
    'order-se…2kq9@41'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def quoted(text: object, most: int = 200) -> str:
    """Return a wrong text as Python spells it, cut as `shortened`: it may be as long as its column
    allows.

    Examples
    --------
    >>> quoted("AVGG"), quoted("A" * 5000, 9)
    ("'AVGG'", "'AAA…AAA'")
    """
    return shortened(repr(text), most)


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "queue"), counted(1200, "queue"), counted(0, "entry", "entries")
    ('1 queue', '1,200 queues', '0 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def natural_key(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Return a key that sorts names by the numbers in them, of any length.

    Examples
    --------
    >>> sorted(["10.0.0.10", "10.0.0.2", "b", "a9"], key=natural_key)
    ['10.0.0.2', '10.0.0.10', 'a9', 'b']
    """
    # Every second part is a number. Without leading zeros the longer one is the greater.
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(_NUMBER.split(name))]
    return tuple((len(part) if i % 2 else 0, part) for i, part in enumerate(parts)), name


def nearest(given: str, names: Iterable[str], most: int = 3, alike: float = 0.6) -> list[str]:
    """Return the names most similar to a wrong one, the most similar first; case and dashes for
    underscores do not count.

    The work is bounded: a long name is compared with none, and not more than 20,000 are compared.

    Examples
    --------
    >>> nearest("pln", ["check", "plan"]), nearest("avg-by-circle", ["AVG", "AVG_BY_CIRCLE"], 1), nearest("x", ["plan"])
    (['plan'], ['AVG_BY_CIRCLE'], [])
    """
    if len(given) > _LONGEST_COMPARED:
        return []
    folded: dict[str, list[str]] = {}
    for name in islice(names, _MOST_COMPARED):
        folded.setdefault(_folded(name), []).append(name)
    from difflib import get_close_matches

    found = get_close_matches(_folded(given), list(folded), most, alike)
    return [name for one in found for name in folded[one]][:most]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the name that was perhaps meant, or
    nothing.

    Examples
    --------
    >>> did_you_mean("pln", ["check", "plan"]), did_you_mean("frobnicate", ["check", "plan"])
    ('; did you mean plan?', '')
    """
    near = nearest(given, names, 1)
    return f"; did you mean {printable(near[0])}?" if near else ""
