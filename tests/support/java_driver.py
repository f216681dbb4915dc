"""Build and run Java programs of ours, ``tests/support/java`` above all, which asks the real
RocketMQ classes.

Everything comes from Maven Central; what Maven makes of one content of a project is kept by
`cache`.
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

import cache
from checkout import ROOT

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
    said = subprocess.run(
        [command("javac"), "-version"], capture_output=True, text=True, check=False
    )
    command("mvn")
    release = re.search(r"\d+", said.stdout + said.stderr)
    if release is None or int(release.group()) < JAVA_RELEASE:
        raise JavaMissing(f"the JDK here is {(said.stdout + said.stderr).strip()!r}: {INSTALL}")


@functools.cache
def output(
    project: Path,
    version: str | None = None,
    goal: str = "process-classes",
    more: tuple[Path, ...] = (),
) -> Path:
    """Return the folder of what Maven makes of a project; it is built once for one content of its
    sources.

    The local Maven repository is tried first, as it answers at once; the network only if something
    is missing there.

    Parameters
    ----------
    project : Path
        Its folder.
    version : str, optional
        Release of RocketMQ; by default what its pom says.
    goal : str
        How far Maven goes.
    more : tuple of Path
        Files outside the project that the goal reads.

    Raises
    ------
    JavaMissing
        There is no JDK or no Maven.
    JavaFailed
        Maven could not build, even with the network.
    """
    require_tools()

    def make(folder: Path) -> None:
        maven = [
            command("mvn"),
            "-B",
            "-q",
            "-f",
            str(project / "pom.xml"),
            goal,
            f"-Drmqalloc.output={folder}",
        ]
        maven += [] if version is None else [f"-Drocketmq.version={version}"]
        if subprocess.run([*maven, "-o"], capture_output=True).returncode != 0:
            run(maven, f"building {project.name} with Maven")

    name = "-".join(
        ["java", *project.relative_to(ROOT).parts[-2:], *([version] if version else [])]
    )
    # The second folder is shared by several projects.
    content: list[str | Path] = [goal, version or "", project / "pom.xml", *more]
    content += cache.sources(project / "src", project.parent / "src")
    return cache.folder(name, content, make, has_jars)


def has_jars(folder: Path) -> bool:
    """Tell whether a project is built and every jar it needs is still in the local Maven
    repository.
    """
    return (folder / "classpath").is_file() and all(map(os.path.exists, jars_of(folder)))


def jars_of(folder: Path) -> list[str]:
    """Read the paths of the jars that the classes in an output folder need."""
    return (folder / "classpath").read_text(encoding="utf-8").strip().split(os.pathsep)


def jars(project: Path, version: str | None = None) -> list[str]:
    """Return the paths of the jars that the classes of a project need; build it if need be."""
    return jars_of(output(project, version))


def maven_classpath(project: Path, version: str | None = None) -> str:
    """Return the class path of a Maven project; build it if need be, with the errors of `output`."""
    folder = output(project, version)
    return os.pathsep.join([str(folder / "classes"), *jars_of(folder)])


def run(arguments: list[str], doing: str, text: str = "") -> str:
    """Run a program on `text` and return what it prints; `doing` names it in the error."""
    done = subprocess.run(
        arguments,
        input=text,
        capture_output=True,
        text=True,
        encoding="ascii",
        errors="backslashreplace",
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise JavaFailed(
            f"{doing} failed with exit code {done.returncode}; its last lines:\n{last}"
        )
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

    Requests and answers are described in ``Witness.java``. A request the program could not serve is
    an error here: the witness must never be silent.
    """
    lines = [json.dumps(request) for request in requests]
    answers = [
        json.loads(line)
        for line in java("Witness", "".join(line + "\n" for line in lines)).splitlines()
    ]
    failures = [answer["failure"] for answer in answers if "failure" in answer]
    if failures or len(answers) != len(lines):
        raise JavaFailed(
            f"{len(lines)} requests, {len(answers)} answers, {len(failures)} failures, the first: {failures[:1]}"
        )
    return answers
