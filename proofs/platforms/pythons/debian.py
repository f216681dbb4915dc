"""Pythons of a newer Debian in a root of their own, and sources of its packages.

The address of Debian's packages is the one that apt of this machine is set up with; apt's own state
is left as it is. A suite that debootstrap does not know is laid out as `sid` is.
"""

import shutil
import subprocess
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SCRIPTS = Path("/usr/share/debootstrap/scripts")
WITH = ("gcc", "libc6-dev", "ca-certificates")
RESOLVES = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
"""Files of this machine without which pip in the root reaches nothing."""

IN_ROOT = 'root=$1; shift; mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --bind "$1" "$root$1"; shift'
"""Shell: mount what a process needs, and the folder of the trial under the name that it has outside."""


def address():
    """Where apt of this machine gets Debian's main packages from."""
    filters = ("Created-By: Packages", "Origin: Debian", "Label: Debian")
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", *filters]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    if not found:
        raise SystemExit("apt knows no address of Debian's packages: run apt-get update")
    return found[0]


def root_with(suite, versions, root):
    """A root of a suite with these Pythons, their headers and a C compiler; it is kept and used
    again.
    """
    done = root / "is-complete"
    if not done.exists():
        shutil.rmtree(root, ignore_errors=True)
        packages = [
            *WITH,
            *(f"python{v}-venv" for v in versions),
            *(f"libpython{v}-dev" for v in versions),
        ]
        script = SCRIPTS / suite if (SCRIPTS / suite).exists() else SCRIPTS / "sid"
        options = ["--variant=minbase", f"--include={','.join(packages)}"]
        command = ["debootstrap", *options, suite, root, address(), script]
        with open(f"{root}.log", "w") as log:
            subprocess.run(command, stdout=log, stderr=log, check=True)
        done.touch()
    for name in RESOLVES:
        if Path("/", name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path("/", name), root / name)
    return root


def in_root(root, folder):
    """What to put before a command so that it runs in the root, and there finds the folder under
    the same name.
    """
    (root / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)
    return [
        "unshare",
        "--mount",
        "sh",
        "-ec",
        f'{IN_ROOT}; exec chroot "$root" "$@"',
        "sh",
        str(root),
        str(folder),
    ]


def source_of(package, suite, folder):
    """The unpacked source of a package, patches of Debian's applied; None and the reason if it
    cannot be had.
    """
    state = folder / f"apt-{suite}"
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb-src [signed-by={KEYRING}] {address()} {suite} main\n")
    lines = {
        "Dir::Etc::sourcelist": "sources.list",
        "Dir::State::lists": "lists",
        "Dir::Cache": "cache",
    }
    text = "".join(
        f'{key} "{state / name}";\n'
        for key, name in (lines | {"Dir::State::status": "status"}).items()
    )
    (state / "apt.conf").write_text(
        f'{text}Dir::Etc::sourceparts "-";\nAPT::Sandbox::User "root";\n'
    )
    for command in (["update", "-q"], ["source", "-q", package]):
        done = subprocess.run(
            ["apt-get", *command], env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "APT_CONFIG": str(state / "apt.conf")},
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
            return (
                None,
                f"apt-get {' '.join(command)} ended with {done.returncode}: {without_address(said)}",
            )
    return max(path for path in folder.glob(f"{package}-*") if path.is_dir()), ""


def without_address(lines):
    """Errors of apt that name files, not where they would come from."""
    words = (
        word.rpartition("/")[2] if "://" in word else word
        for line in lines
        for word in line.split()
    )
    return " ".join(" ".join(words).split("[")[0].split())[:200]
