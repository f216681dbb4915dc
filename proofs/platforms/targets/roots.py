"""Folders with Debian's own Python of another architecture, made without running any program of
that architecture.

`apt-get` with a state of its own downloads the packages, `dpkg-deb` unpacks them; no package is
configured, nothing of the machine is changed. The mirror is the one that the machine's own apt is
configured for.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

SUITES = ["trixie", "forky", "sid"]
"""A mirror may lack packages of an architecture in one suite; the first that is whole is taken."""

PYTHON_PACKAGES = ["python3", "python3-numpy", "libpython3-dev"]

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"

CONFIGURATION = """Dir::Etc "{folder}/etc";
Dir::Etc::sourcelist "sources.list";
Dir::Etc::sourceparts "-";
Dir::State "{folder}/state";
Dir::State::status "{folder}/state/status";
Dir::Cache "{folder}/cache";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::Check-Valid-Until "false";
"""


def mirror() -> str:
    """Address of the Debian mirror that the machine's own apt is configured for."""
    asked = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Origin: Debian",
    ]
    done = subprocess.run(asked, check=True, capture_output=True, text=True)
    found = [line for line in done.stdout.split() if "security" not in line]
    if not found:
        raise SystemExit(
            "apt knows no mirror of Debian; name one in /etc/apt and run apt-get update"
        )
    return found[0]


class AptError(Exception):
    """What apt-get said."""


class Apt:
    """An apt of one architecture and one suite, with a state of its own below `folder`."""

    def __init__(self, folder: Path, architecture: str, suite: str) -> None:
        self.folder, self.architecture = folder.absolute(), architecture
        self.suite = suite
        self._environment = {
            **os.environ,
            "APT_CONFIG": str(self.folder / "apt.conf"),
            "LC_ALL": "C",
        }
        if (self.folder / "updated").exists():
            return
        for part in (
            "etc/preferences.d",
            "etc/apt.conf.d",
            "state/lists/partial",
            "cache/archives/partial",
        ):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        source = f"[signed-by={KEYS}] {mirror()} {suite} main\n"
        (self.folder / "etc/sources.list").write_text(f"deb {source}deb-src {source}")
        (self.folder / "state/status").touch()
        text = CONFIGURATION.format(folder=self.folder, architecture=architecture)
        (self.folder / "apt.conf").write_text(text)
        self.run("update")
        (self.folder / "updated").touch()

    def run(self, *words: str, cwd: Path | None = None) -> None:
        """Run apt-get to its end."""
        done = subprocess.run(
            ["apt-get", "-q", "-y", *words],
            env=self._environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip().partition("\n")[0]
            raise AptError(f"apt-get {' '.join(words)}, {self.suite} {self.architecture}: {said}")

    def unpacked(self, packages: list[str], root: Path) -> Path:
        """Unpack packages with all that they depend on into `root`, where /lib is /usr/lib as on
        any Debian of today.
        """
        if (root / "complete").exists():
            return root
        self.run("install", "--download-only", *packages)
        for name in ("usr/bin", "usr/lib"):
            (root / name).mkdir(parents=True, exist_ok=True)
            if not (root / Path(name).name).is_symlink():
                (root / Path(name).name).symlink_to(name)
        for package in sorted((self.folder / "cache/archives").glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        (root / "complete").touch()
        return root

    def alone(self, package: str, root: Path) -> Path:
        """Unpack one package into `root`, without what it depends on."""
        if not (root / "complete").exists():
            root.mkdir(parents=True, exist_ok=True)
            self.run("download", package, cwd=root)
            subprocess.run(["dpkg-deb", "-x", next(root.glob("*.deb")), root], check=True)
            (root / "complete").touch()
        return root

    def source(self, package: str) -> Path:
        """The archive that upstream released, which a source package holds beside Debian's changes."""
        folder = self.folder / "source"
        folder.mkdir(exist_ok=True)
        pattern = f"{package}_*.orig.tar.[gx]z"
        if not list(folder.glob(pattern)):
            with suppress(
                AptError
            ):  # Debian's changes may be missing at the mirror; they are not wanted
                self.run("source", "--download-only", package, cwd=folder)
        found = sorted(folder.glob(pattern))
        if not found:
            raise AptError(f"apt-get source {package}, {self.suite}: no archive of it came")
        return found[-1]


def python_root(folder: Path, architecture: str) -> tuple[Path, str]:
    """A root with Python and numpy of an architecture, and the suite it is of."""
    said = []
    for suite in SUITES:
        try:
            apt = Apt(folder / "apt" / f"{suite}-{architecture}", architecture, suite)
            return apt.unpacked(
                PYTHON_PACKAGES, folder / "roots" / f"{suite}-{architecture}"
            ), suite
        except AptError as error:
            said.append(str(error))
    raise AptError("\n".join(said))
