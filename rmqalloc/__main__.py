"""``python -m rmqalloc``: the command line without its console script."""

import sys

from rmqalloc.cli import main

if __name__ == "__main__":
    sys.exit(main())
