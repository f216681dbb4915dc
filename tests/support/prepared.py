"""Makes what tests share before they start, one thing after another: ``python -m prepared quick``,
``touched`` or ``all``.

A test that needs one of these makes it itself if it is not there; made here, it delays no worker
and counts for no test. What a tool is missing for is named and left out, as the tests that need it
are.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import areas
import changed_files
import go_driver
import java_driver

SUPPORT = Path(__file__).parent
Makers = list[Callable[[], object]]


def maven(*projects: str) -> Makers:
    """Build projects of Maven."""
    return [lambda project=project: java_driver.output(SUPPORT / project) for project in projects]  # type: ignore[misc]


def releases() -> None:
    """Make environments of the releases of Spark that tests ask, and fetch their connectors."""
    import spark_releases

    for name in ("3.5", "4.1"):
        spark_releases.python(name)
    for connector in ("delta", "iceberg"):
        spark_releases.jars("4.1", connector)
    spark_releases.fitting_pyarrow()


QUICK = maven("java", "live_java")
"""RocketMQ's own classes, and real servers with Java consumers."""

OF_AREA: dict[str, Makers] = {
    "go": [go_driver.built],
    "rocketmq": [*maven("live_java/clients/v4", "live_java/clients/v5")],
    "spark releases": [releases],
}


def chosen_areas(part: str) -> Iterable[str]:
    """List the areas of a part of the tests."""
    if part != "touched":
        return areas.AREAS if part == "all" else ()
    choice = areas.choose(
        changed_files.changed(changed_files.base()), changed_files.git("rev-parse", "HEAD")
    )
    return {areas.area_of(start) or "" for start in choice.all()}


def main(part: str = "quick") -> str | None:
    """Make everything that a part of the tests needs; return what failed."""
    needed = [maker for name in chosen_areas(part) for maker in OF_AREA.get(name, [])]
    named = set()
    for make in [*QUICK, *needed]:
        try:
            make()
        except (java_driver.JavaMissing, go_driver.GoMissing) as missing:
            if str(missing) not in named:
                print(f"{missing}; tests that need it are skipped", file=sys.stderr)
            named.add(str(missing))
        except java_driver.JavaFailed as failed:
            return str(failed)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
