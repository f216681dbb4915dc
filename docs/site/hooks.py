"""What the site shows beyond the pages of ``docs/``: the papers of the project, the example programs, and a page of all
commands, which is made from the commands of the installed package.
"""

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAPERS = ("CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "SECURITY")
PAGES = {f"{name}.md": f"{name.lower().replace('_', '-')}.md" for name in PAPERS}
"""Files of the checkout that are pages of the site, and their names there."""
LAST = 1e-9
"""So little that any page which mentions a word comes before one of these that has it in its title."""
BOOSTS = {
    "api/": LAST,
    "changelog": LAST,
    "reference/commands": 0.5,
}
"""How much pages count in the search, by the beginning of their names; 1 if none fits. Tasks come before names and figures."""
TO_FILE = re.compile(
    r"\[([^]]*)\]\((?:\.\./)*(?:\.github|benchmarks|deploy|go|java|proofs|pyx|rmqalloc|spark_udfs|tests)/[^)]*\)"
)
"""Links to files of the checkout that are no pages: the site shows their text alone."""
TO_PAPER = re.compile(rf"\]\((?:\.\./)?((?:\.\./)*)({'|'.join(PAPERS)})\.md")
TO_PROGRAM = re.compile(r"\]\(\.\./((?:\.\./)*)(examples/(?:clients|conformance)/\w+\.py)\)")
CODE = re.compile(r"`[^`\n]*`")
PROGRAMS = ("clients", "conformance")
"""Folders of `examples/` whose programs pages link to."""

CODE_WITH_BARS = re.compile(r"<code>[^<]*\|[^<]*</code>")
NAMELESS_SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'
"""The theme gives its dialog no name that a screen reader could say."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and programs that lie outside ``docs/``."""
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        text = TO_PAPER.sub(lambda found: f"]({PAGES[found[2] + '.md']}", text)
        files.append(File.generated(config, target, content=text))
    for program in sorted(
        path for room in PROGRAMS for path in (ROOT / "examples" / room).glob("*.py")
    ):
        target = program.relative_to(ROOT).as_posix()
        files.append(File.generated(config, target, abs_src_path=str(program)))
    sys.path.append(str(ROOT / "tests" / "support"))
    import command_reference

    files.append(File.generated(config, "reference/commands.md", content=command_reference.page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Say how much the page counts in the search, and point links that leave ``docs/`` at the copies above."""
    boost = next((boost for name, boost in BOOSTS.items() if page.file.src_uri.startswith(name)), 1)
    page.meta.setdefault("search", {}).setdefault("boost", boost)
    # Elsewhere a bar in the code of a table needs a backslash, which would be shown here.
    markdown = CODE.sub(lambda found: found[0].replace("\\|", "|"), markdown)
    markdown = TO_PROGRAM.sub(r"](\1\2)", markdown)
    markdown = TO_FILE.sub(r"\1", markdown)
    return TO_PAPER.sub(lambda found: f"]({found[1]}{PAGES[found[2] + '.md']}", markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let a long list of values break behind its bars, and nowhere else."""
    return CODE_WITH_BARS.sub(lambda found: found[0].replace("|", "|<wbr>"), html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the search dialog."""
    return output.replace(NAMELESS_SEARCH, f'{NAMELESS_SEARCH} aria-label="Search"')
