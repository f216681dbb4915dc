"""``rmqalloc bulk --spark`` as a file for ``spark-submit``; also ``python -m spark_udfs.job``."""

import sys

from rmqalloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["bulk", "--spark", *sys.argv[1:]]))
