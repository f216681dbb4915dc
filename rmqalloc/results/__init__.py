"""How results are shown and kept, whatever they are results of: as text, in notebooks, as plain data, in files.

``table_result``
    What every result of a verb can do.
``schemas``
    Schemas of tables, by the names of their columns.
``terminal``, ``markup``
    Tables as aligned text; text that is safe in HTML.
"""

from rmqalloc.results.table_result import TableResult, drawn

__all__ = ["TableResult", "drawn"]
