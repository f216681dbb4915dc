"""``python -m spark_udfs.job``, and the file that ``spark-submit`` is given."""

import sys

from spark_udfs.job.command import main

if __name__ == "__main__":
    sys.exit(main())
