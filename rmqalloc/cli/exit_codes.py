"""Exit codes of the command line, sysexits' 64 for wrong usage among them."""

FAILURE = 1
DIFFERENCE = 2
"""Something moves (``plan --detailed-exitcode``), or ``check`` finds a fault."""
GATE = 3
"""A gate such as ``--max-moved`` is not kept."""
PARTIAL = 4
"""The snapshot lacks what some broker or client did not tell, or not before ``--deadline``."""
USAGE = 64
DEFECT = 70
"""An exception that nothing given should cause: a defect of rmqalloc, whose traceback is printed."""
INTERRUPTED = 130
