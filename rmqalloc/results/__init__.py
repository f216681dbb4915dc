"""How results are shown and kept, whatever they are results of: as text, in notebooks, as plain
data, in files.

``tabular``
    What everything with tables does in a notebook: snapshots and fleets too.
``table_result``
    What every result of a verb can do.
``cell_html``, ``pictures``
    Tables in a cell of a notebook; pictures, drawn by matplotlib.
``and_more``
    The first few of many things, and how many more there are.
``renderer``, ``html_text``
    All that text for people is made of; text that is safe in HTML.
``compute``
    Functions of Arrow, each made when it is first used.
``schemas``
    The columns of tables, declared by runs of one type.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.results.table_result import TableResult, drawn

__all__ = ["TableResult", "drawn"]

__getattr__ = imported_on_use(__name__, {"table_result": ("TableResult", "drawn")})
