"""The page of evidence."""

import zipfile

from browser.cross import SUITE
from browser.releases import PLANS

HEAD = """# The package in a browser

`python -m browser` in proofs/. It compiles the extension for WebAssembly by this checkout's own setup.py with Emscripten, loads
the wheel into Pyodide under Node, and replays every golden answer; it plans example snapshots there and compares text and HTML
report, byte by byte, with those of the package on this machine; then it visits the page [Try it](../../docs/try.md) in headless
Chromium, which can resolve no host name.
"""

LIMITS = """## What it rests on, and what is not shown

* Pyodide's runtime comes from npm. NumPy and PyArrow publish no wheel for WebAssembly on the package index (`pip download numpy
  --platform pyemscripten_2026_0_wasm32 --only-binary=:all:` answers "from versions: none", and so for the platforms
  `pyodide_2025_0_wasm32` and `emscripten_5_0_3_wasm32`). Two other projects' wheels carry copies of Pyodide's own builds; a
  copy is taken only if its SHA-256 is the one that Pyodide's lock file names.
* No copy of PyArrow for the newest Pyodide was found, so plans of snapshots were run on the older release, and on the newest
  the strategies alone.
* The compiler is Debian's Emscripten, not the version that each Pyodide was built with.
* Pointers have 32 bits there, and NumPy's own indices with them, which the kernels refuse. So the wheel is made of a copy of
  the sources whose rooms take NumPy from `proofs/browser/wide_numpy.py`; without that, 2,831 of the 44,845 golden
  answers failed with `Cannot cast array data from dtype('int64') to dtype('int32')`.
* Not run: the test suite in Pyodide, threads (there are none), fleets of millions, a browser other than Chromium.
"""


def report(found, seen, size):
    """All of it as Markdown."""
    parts = [HEAD, "| | " + " | ".join(f"Pyodide {release.version}" for release in found) + " |"]
    parts.append("| --- |" + " --- |" * len(found))
    for name, value in ROWS.items():
        parts.append(f"| {name} | " + " | ".join(value(result) for result in found.values()) + " |")
    return "\n".join([*parts, "", *_visit(seen, size, found[PLANS]), "", LIMITS])


def _compiled(result):
    with zipfile.ZipFile(result["wheel"]) as wheel:
        modules = [one for one in wheel.infolist() if one.filename.endswith(".so")]
    total, packed = sum(one.file_size for one in modules), result["wheel"].stat().st_size
    return f"{len(modules)} modules, {total / 1e6:.2f} MB; wheel {packed / 1e6:.2f} MB"


def _plans(result):
    if "plans" not in result:
        return "not run: no PyArrow"
    n, errors, wrong, there = result["plans"]
    slowest = max(seconds for _, seconds in there)
    return f"{n} answers ({errors} of them errors), {wrong} differ; slowest {slowest:.2f} s"


ROWS = {
    "CPython": lambda result: f"{result['facts']['python']}, {result['facts']['platform']}",
    "pointers, NumPy, PyArrow": lambda result: (
        f"{result['facts']['pointer']} bits, {result['facts']['numpy']}, {result['facts']['pyarrow'] or 'none'}"
    ),
    f"compiled (Emscripten of Debian {SUITE})": _compiled,
    "kernels": lambda result: result["facts"]["isa"],
    "golden answers": lambda result: (
        result["golden"][0].partition(": ")[2] if "golden" in result else "not run"
    ),
    "plans and reports": _plans,
}


def _visit(seen, size, result):
    first, second = seen["first"][0], seen["second"][0]
    return [
        "## The page in Chromium",
        "",
        f"* Runtime and packages beside the page: {size / 1e6:.1f} MB. First plan after {first:.1f} s, loading included; the "
        f"next after {second:.2f} s.",
        f"* Asked for from elsewhere: {len(seen['elsewhere'])} requests. Messages on the console: {len(seen['complaints'])}.",
        f"* A group named `{_shown(seen)}`: shown as text, {seen['elements']} elements made of it, script run: "
        f'{"no" if seen["stolen"] == "undefined" else "YES"}; the report\'s frame has `sandbox="{seen["sandbox"]}"`.',
        f"* Not a snapshot: `{seen['mistake'][1]}`.",
        "",
        "The plan of the example, as the page showed it:",
        "",
        "```",
        seen["first"][2].rstrip(),
        "```",
    ]


def _shown(seen):
    from browser.page import HOSTILE

    return HOSTILE if HOSTILE in seen["hostile"][2] else "(not shown)"
