"""Every file that people write, read the same way: one strict dialect of YAML and JSON, errors with
file, line and column.

``budget``
    How much is read of anything.
``source``
    Bytes with a name.
``yaml_text``, ``json_text``
    Text as plain data, and where in the text a piece of it stands. Both give the same data for the
    same content: a key given twice in one mapping is refused, and so is a number that is none (NaN,
    infinity).
``reading``
    A file of either as data, and errors in the data as errors at their place in the file.
``errors``
    What every error of a document knows.
"""

from rmqalloc.documents.document import Document, parse, read_document
from rmqalloc.documents.document_errors import DocumentError, TextError, known_names, path_text
from rmqalloc.documents.source import STDIN, Source, read_source

__all__ = [
    "STDIN",
    "Document",
    "DocumentError",
    "Source",
    "TextError",
    "known_names",
    "parse",
    "path_text",
    "read_document",
    "read_source",
]
