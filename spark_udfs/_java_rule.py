"""Which Java a release of Spark runs on, and whether this machine has it.

The standard library alone: ``make plan`` loads this file from the checkout, before anything is
installed.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

NEWEST_JAVA = {(3, 5): 20, (4, 0): 23, (4, 1): 23}
"""Newest Java of some releases. The Arrow of 3.5 calls a constructor that Java 21 no longer has, and the Hadoop of 4.0 and 4.1
asks a security manager who the user is, which Java 24 no longer has."""

INSTALL_JAVA = (
    "Install it (Debian or Ubuntu: apt-get install openjdk-17-jre-headless; Fedora: dnf install java-17-openjdk-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at one"
)

Release = tuple[int, int]


def java_version() -> tuple[str, int] | None:
    """Return the path and major version of the Java that Spark would start; None without one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return (java, int(match[1])) if match else None


def java_bounds(release: Release | None) -> tuple[int, int | None]:
    """Return the oldest Java that a release of Spark runs on, and the newest if newer ones fail;
    None is the newest release.

    Examples
    --------
    >>> java_bounds((3, 5)), java_bounds((4, 3))
    ((8, 20), (17, None))
    """
    return 8 if release is not None and release < (4, 0) else 17, NEWEST_JAVA.get(
        release
    ) if release else None


def java_fault(found: tuple[str, int] | None, release: Release | None) -> str:
    """Say what is wrong with the Java that was found for a release of Spark, "" if nothing.

    Examples
    --------
    >>> java_fault(("/usr/bin/java", 11), (4, 1))
    'Java 11 at /usr/bin/java is too old'
    """
    least, newest = java_bounds(release)
    if found is None:
        home = os.environ.get("JAVA_HOME")
        return f"no Java was found{f' (JAVA_HOME is {home})' if home else ''}"
    if found[1] < least:
        return f"Java {found[1]} at {found[0]} is too old"
    if newest is not None and found[1] > newest:
        return f"Java {found[1]} at {found[0]} is too new"
    return ""


def java_needed(release: Release | None) -> str:
    """Name the Java that a release of Spark needs.

    Examples
    --------
    >>> java_needed((3, 5))
    'Spark 3.5 needs Java 8 to 20'
    """
    least, newest = java_bounds(release)
    name = f"Spark {release[0]}.{release[1]}" if release else "Spark"
    return f"{name} needs Java {least} {f'to {newest}' if newest else 'or newer'}"
