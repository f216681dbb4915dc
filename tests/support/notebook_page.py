"""The notebook of the guide: it is run from beginning to end, and its page is made of what it
shows.

    python -m notebook_page            runs it; 1 if it fails, or shows other text than the page
    python -m notebook_page --update   writes docs/data/notebook.md and its pictures

A notebook holds no answers itself, so there is nothing in it to go stale.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from checkout import ROOT
from interpreter import PLACES
from nbclient import NotebookClient

NOTEBOOK = ROOT / "examples" / "notebooks" / "from-a-table-to-a-plan.ipynb"
PAGE = ROOT / "docs" / "data" / "notebook.md"
PICTURES = ROOT / "docs" / "images"
SECONDS = 1200
ABOUT = """
This page is a notebook, `examples/notebooks/{name}`, with its output; the tests run it.
To open it, install JupyterLab (`pip install jupyterlab`; no extra brings it) and run `jupyter lab examples/notebooks`.
"""


def run() -> Any:
    """The notebook with its answers; nbclient.exceptions.CellExecutionError if a cell fails."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, PLACES))
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    return notebook


def page(notebook: Any) -> tuple[str, dict[str, str]]:
    """The page, and its pictures by name."""
    parts, pictures = [], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in _shown(cell.outputs):
            if drawing := output.get("data", {}).get("image/svg+xml"):
                name = f"notebook-{len(pictures) + 1}.svg"
                pictures[name] = _still(drawing)
                folder = os.path.relpath(PICTURES, PAGE.parent)
                parts.append(f"![Chart of the cell above]({folder}/{name})")
            elif text := _text(output):
                parts.append(f"```text\n{text}\n```")
    head, _, rest = parts[0].partition("\n")
    about = ABOUT.format(name=NOTEBOOK.name)
    return "\n\n".join([head + "\n" + about + rest.rstrip(), *parts[1:]]) + "\n", pictures


def _shown(outputs: list[Any]) -> list[Any]:
    """What a cell printed, drew or has for a last value; warnings of the libraries are none of it.

    What is printed before and after a warning is one text: the kernel cuts it there or not, as it
    comes to hear of either.
    """
    shown: list[Any] = []
    for one in outputs:
        if one.output_type != "stream":
            shown.append(one)
        elif one.name == "stdout" and shown and "printed" in shown[-1]:
            shown[-1]["printed"] += one.text
        elif one.name == "stdout":
            shown.append({"printed": one.text})
    return shown


def _text(output: Any) -> str:
    """What was printed, or a last value."""
    return str(output.get("printed") or output.get("data", {}).get("text/plain", "")).rstrip()


def _still(drawing: str) -> str:
    """A drawing without the time at which it was made."""
    return re.sub(r"<dc:date>[^<]*</dc:date>", "", drawing).rstrip() + "\n"


def main() -> int:
    """Run it, and write or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    text, pictures = page(run())
    if given.update:
        PAGE.write_text(text, encoding="utf-8")
        for name, drawing in pictures.items():
            (PICTURES / name).write_text(drawing, encoding="utf-8")
        return 0
    if text != PAGE.read_text(encoding="utf-8"):
        (ROOT / "build").mkdir(exist_ok=True)
        (ROOT / "build" / PAGE.name).write_text(text, encoding="utf-8")
        print(
            f"the notebook shows something else than {PAGE.name}: see build/{PAGE.name}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
