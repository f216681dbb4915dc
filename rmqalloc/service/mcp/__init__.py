"""Read-only tools for assistants over the Model Context Protocol: groups, show, check, plan,
explain, diff.

The tools return the documents of the commands with the same names, about one file or one running
cluster. The person who starts the server names it; an assistant cannot name another. Three rules
hold for every call:

* Arguments are read as strictly as documents: unknown names, wrong types and wrong sizes are
  refused with a description of a correct value.
* Answers are bounded in rows and bytes, and state the number of omitted entries.
* Names come from the cluster and may contain any text. They are data: the server does not act on
  them, and the description of each tool states this.

Standard input and output carry the protocol; all further output goes to standard error.
"""

from rmqalloc.service.mcp._server import make_server, run_over_stdio
from rmqalloc.service.mcp._subject import Subject

__all__ = ["Subject", "make_server", "run_over_stdio"]
