"""The page's one script: it sorts tables. Without it the page is whole, only that its tables stay as they are."""

SORTING = """
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
      const order = (a, b) => isNumber ? a - b : a.localeCompare(b, "en", { numeric: true });
      const compare = (a, b) => (a === "") - (b === "") || sign * order(a, b);
      body.append(...[...body.rows].sort((a, b) => compare(key(a, i), key(b, i))));
    });
  });
}
"""
"""A cell is sorted by its ``data-v`` or else its text, in a column of numbers as a number; empty cells come last. A first
click shows the largest number or the first name. Texts are never read as markup."""
