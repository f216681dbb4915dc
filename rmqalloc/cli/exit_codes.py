"""Exit codes of the command line, sysexits' 64 for wrong usage among them."""

FAILURE = 1
USAGE = 64
INTERRUPTED = 130
