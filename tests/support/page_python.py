"""Run blocks of Python and of SQL for `page_blocks`, in the environment of the page:
``python page_python.py FD``.

The standard library alone. A request is a line of JSON on standard input; its answer, a line on the
file descriptor FD, is what is wrong, or an empty text.
"""

import contextlib
import doctest
import io
import json
import os
import subprocess
import sys
import traceback

NAMES = {"__name__": "__main__"}


def run_python(text):
    """Run a block; with prompts it is a doctest that ignores blanks, and ``!`` is for the shell.

    >>> run_python(">>> 1 + 1\\n3\\n").splitlines()[-2:]
    ['Got:', '    2']
    """
    if text.startswith("!"):
        subprocess.run(text[1:], shell=True, check=True)
        return ""
    if ">>> " not in text:
        exec(compile(text, "a block of Python", "exec"), NAMES)
        return ""
    test = doctest.DocTestParser().get_doctest(text, NAMES, "a block of Python", None, 0)
    printed = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    failed = runner.run(test, out=printed.write, clear_globs=False).failed
    NAMES.update(test.globs)
    return printed.getvalue() if failed else ""


def run_sql(text):
    """Run the statements of a block in the session of the page."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    for statement in filter(str.strip, text.split(";\n")):
        spark.sql(statement.rstrip().rstrip(";")).collect()
    return ""


def main(answers):
    """Answer requests until standard input ends."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # input() of a block finds nothing
    for line in requests:
        request = json.loads(line)
        run = {"python": run_python, "sql": run_sql}[request["language"]]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                wrong = run(request["text"])
        except BaseException:
            wrong = traceback.format_exc()
        print(json.dumps(wrong), file=answers, flush=True)


if __name__ == "__main__":
    main(os.fdopen(int(sys.argv[1]), "w", encoding="utf-8"))
