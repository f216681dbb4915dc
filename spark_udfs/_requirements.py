"""What Spark needs on this machine, and a clear error if it is missing. Imports no pyspark."""

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rmqalloc.errors import Error

LEAST_JAVA = 17
"""Oldest Java that Spark 4 runs on."""

PACKAGES = ("pyspark", "pandas", "pyarrow")
"""Python packages that every job needs; pandas is required by PySpark."""


class JavaNotFoundError(Error, RuntimeError):
    """There is no Java that Spark can run on; the message says what to install."""


def java_version() -> tuple[str, int] | None:
    """Path and major version of the Java that Spark would start, None without one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return (java, int(match[1])) if match else None


def require_java() -> None:
    """Raise JavaNotFoundError unless Java is there and new enough."""
    found = java_version()
    if found is not None and found[1] >= LEAST_JAVA:
        return
    home = os.environ.get("JAVA_HOME")
    where = f" (JAVA_HOME is {home})" if home else ""
    problem = f"Java {found[1]} at {found[0]} is too old" if found else f"no Java was found{where}"
    raise JavaNotFoundError(
        f"Spark needs Java {LEAST_JAVA} or newer, but {problem}. Install it (Debian or Ubuntu: apt-get install "
        f"openjdk-17-jre-headless; Fedora: dnf install java-17-openjdk-headless; macOS: brew install openjdk@17) "
        f"or point JAVA_HOME at one; without Spark, `rmqalloc bulk` does the same on the threads of this machine"
    )


def found_packages() -> dict[str, str | None]:
    """Installed version of each of `PACKAGES`, None where it is missing."""
    found: dict[str, str | None] = dict.fromkeys(PACKAGES)
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
