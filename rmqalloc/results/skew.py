"""How a skew is written for people, wherever it is shown: with two digits. Programs get it as it is."""

from __future__ import annotations


def skew_text(skew: float) -> str:
    """A skew for people.

    Examples
    --------
    >>> skew_text(1.0), skew_text(4 / 3), skew_text(1234.5)
    ('1.00', '1.33', '1,234.50')
    """
    return f"{skew:,.2f}"


def is_skew(column: str) -> bool:
    """Whether a column holds skews, by its name or its heading.

    Examples
    --------
    >>> is_skew("skew"), is_skew("chance_skew"), is_skew("worst skew"), is_skew("moved")
    (True, True, True, False)
    """
    return column.replace("_", " ").rpartition(" ")[2] == "skew"


def skews_apart(less: float, more: float) -> tuple[str, str]:
    """Two different skews for people, with as many digits as tell them apart.

    Examples
    --------
    >>> skews_apart(1.0, 1.5), skews_apart(1.251, 1.2536)
    (('1.00', '1.50'), ('1.251', '1.254'))
    """
    for digits in range(2, 17):
        texts = f"{less:,.{digits}f}", f"{more:,.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts
