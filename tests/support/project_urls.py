"""Where the project lives: ``python tests/support/project_urls.py`` writes ``Homepage`` of
pyproject.toml into all papers.

A maintainer changes that one line and runs this once; ``tests/house/test_papers.py`` fails until it
was run.
"""

import tomllib

from checkout import ROOT

FILES = [
    "pyproject.toml",
    "CITATION.cff",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    ".github/ISSUE_TEMPLATE/config.yml",
]
"""Files that hold addresses of the project; no other does."""
LAST_WRITTEN = "Source"
"""The address of pyproject.toml that is as Homepage was when this ran last."""


def urls():
    """The addresses of pyproject.toml by their names."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]


def main():
    """Write the address of Homepage wherever the former one stands."""
    new, former = urls()["Homepage"], urls()[LAST_WRITTEN]
    for name in FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(text.replace(former, new), encoding="utf-8")
        print(f"{name}: {text.count(former)} times")


if __name__ == "__main__":
    main()
