// Elements of the page. Every name that comes from a cluster becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const MOST_CHARACTERS = 120;
export const MOST_ROWS = 200;

const whole = new Intl.NumberFormat("en");
const exact = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const rounded = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** Return an element with attributes and children; strings become text, null and undefined nothing. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return the text with every character that cannot be seen, or turns its neighbours round, written as an escape. */
export function printable(text) {
  return String(text).replace(UNSEEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Return the text as it is shown: printable, and not longer than a line or two. */
export function shortened(text) {
  const shown = printable(text);
  return shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}… (${whole.format(shown.length)} characters)` : shown;
}

/** Return a name of the cluster, set apart from the direction of the text around it. */
export function named(text) {
  return element("bdi", {}, shortened(text));
}

export const count = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const ratio = (value) => (value === null || value === undefined ? "–" : exact.format(value));
export const about = (value) => (value === null || value === undefined ? "–" : rounded.format(value));
export const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** Return "before → after", or one of them where they are equal. */
export function change(before, after, format = count) {
  return format(before) === format(after) ? format(after) : `${format(before)} → ${format(after)}`;
}

/** Return a bar whose length is a share of the greatest; the number stands beside it, so it is hidden from readers. */
export function bar(value, most, kind = "s0") {
  const share = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  const rect = filled(document.createElementNS(SVG, "rect"), { width: `${(share * 100).toFixed(2)}%`, height: "100%", class: kind }, []);
  return filled(document.createElementNS(SVG, "svg"), { class: "bar", "aria-hidden": "true", focusable: "false" }, [rect]);
}

/**
 * Return a table with at most MOST_ROWS rows and a button for the rest.
 * columns: {title, cell(row) -> text or element, number, bar}; the first is the header of its row.
 */
export function table(caption, columns, rows, { kind = "", empty = "none" } = {}) {
  const head = columns.map((column) => element("th", { scope: "col", class: column.number ? "n" : column.bar ? "b" : null }, column.bar ? element("span", { class: "hidden" }, column.title) : column.title));
  const body = element("tbody");
  const made = element("table", { class: kind || null }, element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), body);
  const wide = element("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption }, made);
  const draw = (some) => body.append(...some.map((row) => tableRow(columns, row)));
  draw(rows.slice(0, MOST_ROWS));
  if (!rows.length) body.append(element("tr", {}, element("td", { colspan: columns.length, class: "soft" }, empty)));
  if (rows.length <= MOST_ROWS) return wide;
  const more = element("button", { type: "button" }, `Show all ${count(rows.length)} rows`);
  const rest = element("p", { class: "soft" }, `The first ${count(MOST_ROWS)} of ${count(rows.length)} rows. `, more);
  more.addEventListener("click", () => {
    draw(rows.slice(MOST_ROWS));
    wide.focus();
    rest.remove();
  });
  return element("div", {}, wide, rest);
}

function tableRow(columns, row) {
  const cells = columns.map((column, i) => {
    const kind = column.number ? "n" : column.bar ? "b" : null;
    return element(i ? "td" : "th", { scope: i ? null : "row", class: kind, "data-l": i ? column.title : null }, column.cell(row));
  });
  return element("tr", {}, cells);
}

/** Return a list of figures: [value, what it counts, "", "warn", "bad" or "good", a further line]. */
export function tiles(figures) {
  return element("ul", { class: "tiles" }, figures.map(([value, label, kind, more]) =>
    element("li", {}, element("b", { class: kind || null }, kind === "warn" || kind === "bad" ? `! ${value}` : value), element("span", {}, label), more ? element("span", { class: "more" }, more) : null)));
}

/** Return a moment in UTC, to the second, from seconds of the Unix clock or a text. */
export function moment(given) {
  if (given === null || given === undefined) return "–";
  const date = new Date(typeof given === "number" ? given * 1000 : given);
  return Number.isNaN(date.getTime()) ? shortened(given) : date.toISOString().slice(0, 19).replace("T", " ") + "Z";
}
