"""``rmqalloc doctor``: what is installed here, and what that is good for."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._sink import say_lines
from rmqalloc.errors import needs
from rmqalloc.results.renderer import text_table


def version_of(package: str) -> str:
    """Installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@click.command(cls=Verb)
def doctor() -> None:
    """Show versions, the instruction set in use, and whether Spark jobs can run."""
    from rmqalloc._engine import md5
    from rmqalloc.version import __version__
    from spark_udfs import requirements as spark

    java, packages, release = spark.java_version(), spark.found_packages(), spark.spark_release()
    missing = [f"no {package} is installed" for package, found in packages.items() if found is None]
    missing += [problem for problem in (spark.spark_problem(), spark.java_problem()) if problem]
    rows = [
        ("rmqalloc", __version__),
        ("instruction set", md5.isa()),
        (
            "python",
            f"{platform.python_version()} on {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} processors",
        ),
        ("numpy", version_of("numpy")),
        ("click", version_of("click")),
        *[
            (package, found or f"not installed: {needs(package)}")
            for package, found in packages.items()
        ],
        ("java", f"{java[1]} at {java[0]}" if java else "not found"),
        ("java for spark", spark.java_wanted()),
        ("spark jobs", f"cannot run: {'; '.join(missing)}" if missing else "can run"),
        *(spark.works_here(release) if release else []),
    ]
    say_lines(text_table(("part", "found"), rows))
