"""Results that are written, and Spark: ``python -m spark [--quick] [--only PART] [--report FILE]``.

Writers are killed and refused at every call (Linux, a C compiler); random directories have one plan
by every road; the Spark job is killed at random moments; every feature answers on every release as
it does without Spark (a JDK, Maven).
"""

import sys

from proof import run_parts

from spark.directories.compared import directories
from spark.matrix.releases import matrix
from spark.publishing.publishing import publishing
from spark.writing.writing import writing

PARTS = {
    "writing": writing,
    "directories": directories,
    "publishing": publishing,
    "matrix": matrix,
}
QUICK = ("writing", "directories", "publishing")

if __name__ == "__main__":
    sys.exit(run_parts("spark", __doc__, PARTS, QUICK))
