"""The Python of README.md and docs/*.md as modules that a type checker takes: a page is a module,
its blocks in order.
"""

import re
from pathlib import Path

from checkout import ROOT
from page_blocks import blocks_of

SPECIFICATIONS = {"ordinal.md", "stable.md"}
"""Pages whose Python defines a strategy, to be read in any language: as short as it can be, so without types."""

NOTEBOOK = "notebook.md"
"""A page made of a notebook, whose cells have words that only a notebook knows."""

PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.name not in SPECIFICATIONS | {NOTEBOOK}
    ),
]

_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.)(?: |$)(.*)")


def module_of(page: str) -> str:
    """The statements of a page's Python blocks, each on the line where the page has it, so that
    errors name lines of the page.

    Of a block with prompts only what stands behind them is taken: the rest is output.

    >>> module_of("Text.\\n```python\\n>>> a = (1,\\n...      2)\\n>>> a\\n(1, 2)\\n```\\n```bash\\nls\\n```\\n").splitlines()
    ['', '', 'a = (1,', '     2)', 'a', '', '', '', '', '']
    """
    made = [""] * len(page.splitlines())
    for block in blocks_of(page):
        if block.language == "python":
            first, statements = (
                page.count("\n", 0, block.start),
                _statements(block.text.splitlines()),
            )
            made[first : first + len(statements)] = statements
    return "\n".join(made) + "\n"


def _statements(block: list[str]) -> list[str]:
    if not any(line.lstrip().startswith(">>>") for line in block):
        return block
    prompts = map(_PROMPT.fullmatch, block)
    return [found[1] if found else "" for found in prompts]


def write_modules(where: Path) -> list[Path]:
    """Write the modules of all pages that have Python, named ``README_md.py`` and
    ``docs_plan_md.py``; returns their files.
    """
    files = []
    for page in PAGES:
        text = module_of(page.read_text(encoding="utf-8"))
        if text.strip():
            name = "_".join(page.relative_to(ROOT).parts).replace(".", "_").replace("-", "_")
            files.append(where / f"{name}.py")
            files[-1].write_text(text, encoding="utf-8")
    return files
