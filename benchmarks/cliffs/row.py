"""One line of the table."""

from typing import NamedTuple


class Row(NamedTuple):
    """How much more work an odd or doubled input takes than the plain one.

    Attributes
    ----------
    what : str
        The call.
    shape : str
        The input that is counted, and what it is compared with.
    factor, bound : float
        Work of the input over that of the other; the most that is accepted.
    unit : str
        What was counted: "instructions", "operations".
    """

    what: str
    shape: str
    factor: float
    bound: float
    unit: str

    @property
    def kept(self) -> bool:
        """Whether the bound is kept."""
        return self.factor <= self.bound


def table(rows: list[Row]) -> str:
    """Write rows as a Markdown table."""
    lines = ["| call | input | counted | factor | at most |", "| --- | --- | --- | ---: | ---: |"]
    for row in rows:
        mark = "" if row.kept else " (above)"
        lines.append(
            f"| {row.what} | {row.shape} | {row.unit} | {row.factor:.2f}{mark} | {row.bound:g} |"
        )
    return "\n".join(lines)
