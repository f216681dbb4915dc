// All groups, worst first, with a search.

import { ask } from "./answers.js";
import { hashOf, replaceAddress } from "./address.js";
import { count, element, named, plural, ratio, table } from "./elements.js";

const WORDS = { error: ["✗", "bad"], warning: ["!", "warn"], note: ["·", "soft"], none: ["✓", "good"] };

/** Return the list of groups as an element. */
export async function groupsView(state) {
  const found = await ask("v1/groups");
  const rows = found.groups ?? [];
  const input = element("input", { type: "search", id: "search", value: state.search, placeholder: "part of a name", autocomplete: "off", spellcheck: "false" });
  const shown = element("output", { for: "search" });
  const list = element("div");
  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matched = rows.filter((row) => words.every((word) => textOf(row).includes(word)));
    shown.textContent = `${count(matched.length)} of ${plural(rows.length, "group")}`;
    list.replaceChildren(table("Consumer groups, worst first", COLUMNS, matched, { kind: "cards", empty: rows.length ? "No group matches." : "The cluster has no group." }));
  };
  input.addEventListener("input", () => {
    replaceAddress({ search: input.value });
    draw();
  });
  draw();
  const cut = found.n_rows > rows.length ? element("p", { class: "soft" }, `The worst ${count(rows.length)} of ${count(found.n_rows)} groups.`) : null;
  const filters = element("div", { class: "filters" }, element("label", { for: "search" }, "Group, strategy or finding"), input, shown);
  return element("section", {}, element("h1", { tabindex: "-1" }, "Consumer groups"), summary(rows), filters, list, cut);
}

function summary(rows) {
  const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  const [errors, warnings, unowned] = ["errors", "warnings", "unowned"].map(sum);
  const kind = errors ? "bad" : warnings ? "warn" : "good";
  const sign = { bad: "✗", warn: "!", good: "✓" }[kind];
  return element("p", {}, element("span", { class: kind }, `${sign} ${plural(errors, "error")}, ${plural(warnings, "warning")}`), ` in ${plural(rows.length, "group")}; ${plural(unowned, "queue")} unowned.`);
}

const textOf = (row) => `${row.consumer_group} ${row.strategy ?? ""} ${row.worst ?? ""}`.toLowerCase();

/** Return the severity of a group's worst finding. */
export function severityOf(row) {
  return row.errors ? "error" : row.warnings ? "warning" : row.notes ? "note" : "none";
}

/** Return a severity as a sign, with its word for those who do not see the sign. */
export function mark(severity) {
  const [sign, kind] = WORDS[severity] ?? WORDS.note;
  return element("span", { class: `mark ${kind}` }, element("span", { "aria-hidden": "true" }, sign), element("span", { class: "hidden" }, `${severity === "none" ? "no finding" : severity}: `));
}

const figure = (title, name, format = count) => ({ title, number: true, cell: (row) => format(row[name]) });
const wrong = (title, name) => ({ title, number: true, cell: (row) => (row[name] > 0 ? element("span", { class: "bad" }, count(row[name])) : count(row[name])) });

const COLUMNS = [
  { title: "group", cell: (row) => [mark(severityOf(row)), element("a", { href: hashOf({ group: row.consumer_group }) }, named(row.consumer_group))] },
  { title: "worst finding", cell: (row) => (row.worst ? named(row.worst) : "–") },
  figure("clients", "n_clients"),
  { title: "idle", number: true, cell: (row) => (row.idle > 0 ? element("span", { class: "warn" }, count(row.idle)) : count(row.idle)) },
  figure("queues", "n_queues"),
  wrong("unowned", "unowned"),
  wrong("double-owned", "double_owned"),
  figure("skew (max ÷ mean)", "skew", ratio),
  figure("lag (messages)", "messages"),
  { title: "strategy", cell: (row) => (row.strategy ? named(row.strategy) : "not known") },
];
