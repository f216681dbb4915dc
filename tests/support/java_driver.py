"""Build and run Java programs of ours, ``tests/support/java`` above all, which asks the real RocketMQ classes.

Everything comes from Maven Central; output goes to ``target`` of the project. A tree that is built already is built again
only if one of its sources is newer.
"""

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent / "java"
JAVA_RELEASE = 17

INSTALL = f"install Maven and a JDK of version {JAVA_RELEASE} or newer (Debian: apt-get install openjdk-17-jdk maven)"


class JavaMissing(RuntimeError):
    """No JDK or no Maven on this machine; the message says what to install."""


class JavaFailed(RuntimeError):
    """The build or the program itself failed; the message holds what it printed last."""


def command(name: str) -> str:
    """Path of `name` from ``JAVA_HOME`` if it is there, else from ``PATH``."""
    home = Path(os.environ.get("JAVA_HOME", "/nonexistent")) / "bin" / name
    found = str(home) if home.is_file() else shutil.which(name)
    if found is None:
        raise JavaMissing(f"no {name} on this machine: {INSTALL}")
    return found


def require_tools() -> None:
    """Raise `JavaMissing` unless Maven and a JDK that is new enough are here."""
    command("mvn")
    said = subprocess.run([command("javac"), "-version"], capture_output=True, text=True, check=True)
    release = re.search(r"\d+", said.stdout + said.stderr)
    if release is None or int(release.group()) < JAVA_RELEASE:
        raise JavaMissing(f"the JDK here is {(said.stdout + said.stderr).strip()!r}: {INSTALL}")


def target(project: Path, version: str | None = None) -> Path:
    """Where Maven's output goes; a project that is built with several releases of RocketMQ keeps them apart."""
    return project / ("target" if version is None else f"target-{version}")


def is_built(project: Path, version: str | None = None) -> bool:
    """Whether the classes are newer than their sources and every jar they need is still in place."""
    classpath = target(project, version) / "classpath"
    if not classpath.is_file():
        return False
    folders = (project / "src", project.parent / "src")  # the second is shared by several projects
    sources = [project / "pom.xml", *(path for one in folders for path in one.rglob("*") if path.is_file())]
    built = classpath.stat().st_mtime
    return all(path.stat().st_mtime < built for path in sources) and all(map(os.path.exists, jars(project, version)))


def jars(project: Path, version: str | None = None) -> list[str]:
    """Paths of the jars that the classes need."""
    return (target(project, version) / "classpath").read_text(encoding="utf-8").strip().split(os.pathsep)


@functools.cache
def maven_classpath(project: Path, version: str | None = None) -> str:
    """Build a Maven project if need be and return its class path.

    The local Maven repository is tried first, as it answers at once; the network only if something is missing there.

    Parameters
    ----------
    project : Path
        Its folder.
    version : str, optional
        Release of RocketMQ, for a project that keeps its output in ``target-<version>``; by default what its pom says.

    Raises
    ------
    JavaMissing
        There is no JDK or no Maven.
    JavaFailed
        Maven could not build, even with the network.
    """
    require_tools()
    if not is_built(project, version):
        (target(project, version) / "classpath").unlink(missing_ok=True)
        maven = [command("mvn"), "-B", "-q", "-f", str(project / "pom.xml"), "process-classes"]
        if version is not None:
            maven.append(f"-Drocketmq.version={version}")
        if subprocess.run([*maven, "-o"], capture_output=True).returncode != 0:
            run(maven, f"building {project.name} with Maven")
    return os.pathsep.join([str(target(project, version) / "classes"), *jars(project, version)])


def run(arguments: list[str], doing: str, text: str = "") -> str:
    """Run a program on `text` and return what it prints; `doing` names it in the error."""
    done = subprocess.run(
        arguments, input=text, capture_output=True, text=True, encoding="ascii", errors="backslashreplace"
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise JavaFailed(f"{doing} failed with exit code {done.returncode}; its last lines:\n{last}")
    return done.stdout


def java(main: str, text: str) -> str:
    """Run one of our Java programs (``Witness``, ``Bench``) on `text` and return what it prints."""
    return run(
        [command("java"), "-cp", maven_classpath(PROJECT), f"io.rmqalloc.witness.{main}"],
        f"the Java program {main}",
        text,
    )


def witness(requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers of the real RocketMQ classes, one for each request, by one Java process.

    Requests and answers are described in ``Witness.java``. A request the program could not serve is an error here: the
    witness must never be silent.
    """
    lines = [json.dumps(request) for request in requests]
    answers = [json.loads(line) for line in java("Witness", "".join(line + "\n" for line in lines)).splitlines()]
    failures = [answer["failure"] for answer in answers if "failure" in answer]
    if failures or len(answers) != len(lines):
        raise JavaFailed(
            f"{len(lines)} requests, {len(answers)} answers, {len(failures)} failures, the first: {failures[:1]}"
        )
    return answers
