"""The wheel for WebAssembly: this checkout's own setup.py, with emcc for a compiler, in a root of
Debian's newest suite.

The root is made by debootstrap from the mirror that this machine's apt is set up for, and has
Emscripten, CPython 3.14, setuptools and Cython from there. What the target is like (``sysconfig``)
is read out of the runtime; CPython's headers are those of its minor version, with a pyconfig.h that
says of every macro what the runtime's ``sysconfig`` says.
"""

import glob
import os
import re
import runpy
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path

from checkout import ROOT

from platforms.browser.releases import MissingError, needs

SUITE = "sid"
PACKAGES = "emscripten libpython3.14-dev cython3 python3-setuptools python3-wheel python3-build"
SOURCES = (
    "setup.py",
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "NOTICE",
    "pyx",
    "rmqalloc",
    "spark_udfs",
)
SYSCONFIG = "_sysconfigdata__emscripten_wasm32-emscripten"
_IMPORT = re.compile(r"^( *)import numpy as np$", re.MULTILINE)
_MACRO = re.compile(r"^(?:#define|/\* #undef) (\w+)", re.M)


def debian_root(work):
    """The root with the compiler; some minutes and 1.5 GB the first time."""
    root, marker = work / "root", work / "root" / "is-ready"
    if not marker.exists():
        needs(("debootstrap", "debootstrap"), ("unshare", "util-linux"))
        if os.geteuid():
            raise MissingError(
                "a root of Debian is made by debootstrap and chroot, which only root can do"
            )
        subprocess.run(
            ["debootstrap", "--variant=minbase", SUITE, str(root), _mirror()], check=True, stdout=2
        )
        # A mirror that is stalled would be refused for the age of its list.
        (root / "etc/apt/apt.conf.d/99age").write_text('Acquire::Check-Valid-Until "false";\n')
        command = f"apt-get update -q && apt-get install -y -q --no-install-recommends {PACKAGES}"
        _inside(root, f"DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; {command}")
        marker.touch()
    return root


def wheel(release, runtime, work):
    """Compile the checkout for a release; the path of the wheel."""
    root = debian_root(work)
    inside = Path("build-" + release.python)
    shutil.rmtree(root / inside, ignore_errors=True)
    (root / inside / "source").mkdir(parents=True)
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / inside / "source" / name)
    with_wide_indices(root / inside / "source")
    for compiled in glob.glob(str(root / inside / "source/rmqalloc/_engine/*.so")):
        os.unlink(compiled)
    target(release, runtime, root, root / inside / "target")
    _inside(root, _build_script(release, inside))
    (made,) = (root / inside / "dist").glob("*.whl")
    return made


def with_wide_indices(source):
    """Let the rooms of a copy take NumPy from `wide_numpy`, since pointers, and so NumPy's own
    indices, have 32 bits there.
    """
    shutil.copy(Path(__file__).with_name("wide_numpy.py"), source / "rmqalloc" / "_wide.py")
    for module in (source / "rmqalloc").rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        module.write_text(_IMPORT.sub(r"\1from rmqalloc._wide import np", text), encoding="utf-8")


def target(release, runtime, root, folder):
    """Write what the target is like into a folder: its sysconfig and its headers."""
    folder.mkdir()
    with zipfile.ZipFile(runtime / "python_stdlib.zip") as library:
        library.extract(f"{SYSCONFIG}.py", folder)
    values = runpy.run_path(str(folder / f"{SYSCONFIG}.py"))["build_time_vars"]
    # setuptools names no wheel for another minor version than the Python that it runs in: the name
    # is put right afterwards.
    (folder / f"{SYSCONFIG}.py").write_text(
        f"build_time_vars = {values | {'SOABI': 'cpython-314-wasm32-emscripten'}!r}\n"
    )
    headers, native = _headers(release.python, root)
    shutil.copytree(headers, folder / "include")
    (folder / "include" / "pyconfig.h").write_text(pyconfig(native.read_text(), values))


def pyconfig(native, values):
    """A pyconfig.h with the names of another machine's and the values that ``sysconfig`` has of the
    target.

    Names that begin with an underscore are no part of ``sysconfig``; what they say holds for every
    POSIX.
    """
    lines = []
    for name in dict.fromkeys(_MACRO.findall(native)):
        if name.startswith("_") and name not in values:
            found = re.search(rf"^#define {name}( .*)?$", native, re.M)
            lines.append(found[0] if found else f"/* #undef {name} */")
        else:
            value = values.get(name)
            lines.append(
                f"/* #undef {name} */" if value in (None, 0, "") else f"#define {name} {value}"
            )
    return "\n".join(lines) + "\n"


def _headers(python, root):
    """A folder of CPython's headers of a minor version, and the pyconfig.h that belongs to them."""
    of_root = root / f"usr/include/python{python}"
    if of_root.exists():
        (native,) = (root / "usr/include").glob(f"*-linux-gnu/python{python}/pyconfig.h")
        return of_root, native
    own = [
        sysconfig.get_path("include"),
        f"/usr/include/python{python}",
        f"/usr/local/include/python{python}",
    ]
    for place in (
        *own,
        *glob.glob(os.path.expanduser(f"~/.pyenv/versions/{python}.*/include/python{python}")),
    ):
        if place.endswith(f"python{python}") and (found := Path(place, "pyconfig.h")).exists():
            return Path(place), found
    raise MissingError(
        f"no headers of CPython {python}: install it with pyenv, or run this with python{python}"
    )


def _build_script(release, inside):
    tag = f"cp{release.python.replace('.', '')}"
    return f"""set -e
cd /{inside}/source
export PYTHONPATH=/{inside}/target _PYTHON_SYSCONFIGDATA_NAME={SYSCONFIG} _PYTHON_HOST_PLATFORM=emscripten-wasm32
export CC="emcc -I/{inside}/target/include" CFLAGS="-O2 -fPIC" LDSHARED="emcc -O2 -sSIDE_MODULE=1" EM_CACHE=/emscripten-cache
python3.14 -m build --wheel --no-isolation --outdir /{inside}/dist
unset PYTHONPATH _PYTHON_SYSCONFIGDATA_NAME _PYTHON_HOST_PLATFORM
cd /{inside}/dist
python3.14 -m wheel tags --remove --python-tag {tag} --abi-tag {tag} --platform-tag {release.platform} *.whl
"""


def _inside(root, script):
    """Run a script in the root, with /proc and /dev/shm that are gone afterwards."""
    mounts = 'mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev/shm"'
    command = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'{mounts} && exec chroot "$0" bash -c "$1"',
        str(root),
        script,
    ]
    subprocess.run(["nice", "-n", "10", *command], check=True, stdout=2)


def _mirror():
    """Where this machine's apt takes Debian from."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    if not (found := [one for one in listed if "security" not in one]):
        raise MissingError("apt of this machine is set up for no mirror of Debian")
    return found[0]
