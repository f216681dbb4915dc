"""Read-only tools for assistants over the Model Context Protocol: groups, show, check, plan,
explain, diff.

The tools give the documents of the verbs of the same names, of one file or one running cluster,
which whoever starts the server names; an assistant cannot name another. Three rules hold for every
call:

* Arguments are read as documents are: unknown names, wrong types and sizes are refused, with what
  would be right.
* Answers are bounded in rows and bytes; what is left out is counted in the answer.
* Names come from the cluster and may hold any text. They are data: nothing here acts on them, and
  each tool says so.

Standard input and output belong to the protocol; whatever else is printed goes to standard error.
"""

from rmqalloc.service.mcp._server import make_server, run_over_stdio
from rmqalloc.service.mcp._subject import Subject

__all__ = ["Subject", "make_server", "run_over_stdio"]
