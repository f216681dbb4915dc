"""The frame of a page: one file that loads nothing, runs nothing but its own script, and says so in
its policy.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

import pyarrow as pa

from rmqalloc.report.html._page_tables import TableColumn, html_table
from rmqalloc.report.html._style import style_sheet
from rmqalloc.results.html_text import escaped, name
from rmqalloc.results.renderer import is_number
from rmqalloc.text import counted

Section = tuple[str, str, str]
"""Id of a section, what a link calls it, and its markup; a section without markup is left out."""

SCRIPT = """
const words = new Intl.Collator("en", { numeric: true });
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const key = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const up = was === "descending" || (was === "none" && !head.classList.contains("n"));
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sign = up ? 1 : -1, isNumber = head.classList.contains("n");
      const keys = new Map([...body.rows].map((row) => [row, key(row, i)]));
      const order = (a, b) => isNumber ? a - b : words.compare(a, b);
      const compare = (a, b) => (a === "") - (b === "") || sign * order(a, b);
      body.append(...[...keys.keys()].sort((a, b) => compare(keys.get(a), keys.get(b))));
    });
  });
}
for (const bar of document.querySelectorAll(".filters")) {
  const found = [...bar.closest("section").querySelectorAll(".g")], [text, ...kinds] = bar.querySelectorAll("input");
  const nameOf = (one) => { const name = one.querySelector("bdi"); return (name.title || name.textContent).toLowerCase(); };
  const names = found.map(nameOf), n = new Set(names).size;
  const show = () => {
    const part = text.value.trim().toLowerCase(), wanted = kinds.filter((kind) => kind.checked), seen = new Set();
    found.forEach((one, i) => {
      one.hidden = !names[i].includes(part) || !wanted.every((kind) => one.classList.contains(kind.value));
      if (!one.hidden) seen.add(names[i]);
    });
    bar.querySelector("output").value = `${seen.size.toLocaleString("en")} of ${n.toLocaleString("en")} groups`;
  };
  bar.hidden = false;
  bar.addEventListener("input", show);
  show();
}
"""
"""A cell is sorted by its ``data-v`` or else its text, in a column of numbers as a number; empty cells come last. A first
click shows the largest number or the first name. Filters show what has the name and all chosen kinds; without scripts there are
none, and everything is shown. Texts are never read as markup."""


def page(title: str, body: str) -> str:
    """Return a whole HTML document."""
    style = style_sheet()
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(SCRIPT)}; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
{body}
<script>{SCRIPT}</script>
</body>
</html>
"""


def report_page(title: str, evidence: str, sections: Sequence[Section], made: str) -> str:
    """Return a page of sections: its title, what it rests on, links, the sections in their order,
    and how it was made.
    """
    there = [one for one in sections if one[2]]
    nav = "".join(f'<li><a href="#{ident}">{name(said, 32)}</a></li>' for ident, said, _ in there)
    return page(
        title,
        f'<header><h1>{escaped(title)}</h1>{evidence}<nav aria-label="Sections"><ul>{nav}</ul></nav></header>\n'
        f'<main id="main" tabindex="-1">{"".join(markup for _, _, markup in there)}</main>\n'
        f"<footer><p>{escaped(made)} This page loads nothing and sends nothing.</p></footer>",
    )


def section(ident: str, heading: str, inside: str, lead: str = "") -> str:
    """Return a section; nothing if there is nothing in it."""
    if not inside:
        return ""
    head = f'<div class="head"><h2 id="{ident}-h">{name(heading)}</h2>{lead}</div>'
    return f'<section id="{ident}" aria-labelledby="{ident}-h">{head}{inside}</section>'


def table_page(shown: pa.Table) -> Iterator[str]:
    """Yield a page with one table in it, of any size: its rows are no cards, which would double it."""
    columns = [TableColumn(field.name, is_number(field.type)) for field in shown.schema]
    rows = zip(*(column.to_pylist() for column in shown.columns), strict=True)
    table = html_table(counted(shown.num_rows, "row"), columns, rows, has_cards=False)
    yield page("rmqalloc", f'<main id="main"><section><h1>rmqalloc</h1>{table}</section></main>')


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
