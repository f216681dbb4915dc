"""Makes what tests share before they start: ``python -m prepared quick``, ``touched`` or ``all``.

A test that needs one of these makes it itself if it is not there; made here, it delays no worker
and counts for no test. What a tool is missing for is named and left out, as the tests that need it
are.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import areas
import go_driver
import java_driver

SUPPORT = Path(__file__).parent


def maven(*projects: str) -> None:
    """Build projects of Maven."""
    for project in projects:
        java_driver.output(SUPPORT / project)


def releases() -> None:
    """Make environments of the releases of Spark that tests ask, and fetch their connectors."""
    import spark_releases

    for name in ("3.5", "4.1"):
        spark_releases.python(name)
    for connector in ("delta", "iceberg"):
        spark_releases.jars("4.1", connector)
    spark_releases.fitting_pyarrow()


def of_rocketmq() -> None:
    """Build clients of other releases, and the proxy."""
    clients = (f"live_java/clients/{name}" for name in ("v4", "v5", "grpc"))
    maven(*clients, "live_java/proxy")


OF_AREA: dict[str, Callable[[], object]] = {
    "go": go_driver.built,
    "rocketmq": of_rocketmq,
    "spark releases": releases,
}


def chosen_areas(part: str) -> Iterable[str | None]:
    """List the areas of a part of the tests."""
    if part == "quick":
        return ()
    if part == "all":
        return areas.AREAS
    return {areas.area_of(start) for start in areas.choose(areas.changed_files()).touched}


def main(part: str = "quick") -> str | None:
    """Make everything that a part of the tests needs; return what failed."""
    chosen = chosen_areas(part)
    makers = [lambda: maven("java", "live_java")]
    makers += [make for name, make in OF_AREA.items() if name in chosen]
    for make in makers:
        try:
            make()
        except (java_driver.JavaMissing, go_driver.GoMissing) as missing:
            print(f"{missing}; tests that need it are skipped", file=sys.stderr)
        except java_driver.JavaFailed as failed:
            return str(failed)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
