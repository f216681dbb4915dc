"""How results are shown and kept, whatever they are results of: as text, in notebooks, as plain
data, in files.

``table_result``
    What every result of a verb can do.
``and_more``
    The first few of many things, and how many more there are.
``renderer``, ``html_text``
    All that text for people is made of; text that is safe in HTML.
``compute``
    Functions of Arrow, each made when it is first used.
``schemas``
    The columns of tables, declared by runs of one type.
"""

from rmqalloc.results.table_result import TableResult, drawn

__all__ = ["TableResult", "drawn"]
