// One group: its figures, findings, who owns what, its last moves, and what could be tried.

import { ask, groupPath } from "./answers.js";
import { about, bar, count, element, moment, named, plural, printable, ratio, table, tiles } from "./elements.js";
import { mark } from "./groups.js";
import { trialSection } from "./trial.js";

/** Return the view of one group as an element. */
export async function groupView(state) {
  const found = await ask(groupPath(state.group));
  const row = found.group ?? {};
  const clients = found.clients ?? [];
  return element("div", {},
    section("group", element("h1", { tabindex: "-1" }, named(state.group)), figures(row, clients, found)),
    section("findings", element("h2", {}, "Findings"), findings(found.findings ?? [], row.not_known ?? [])),
    trialSection(state, row, clients, found.queues ?? []),
    section("owners", element("h2", {}, "Owners of queues"), byClient(clients), byQueue(found.queues ?? [], found.n_queue_rows)),
    section("moves", element("h2", {}, "Last changes"), changes(found.events ?? [])));
}

const section = (id, ...children) => element("section", { id }, children);

function figures(row, clients, found) {
  const loads = clients.map((client) => client.n_queues);
  const worst = (value, kind) => (value > 0 ? kind : "");
  const source = { reported: "reported by its clients", given: "as stated" }[row.strategy_source] ?? row.strategy_source;
  const settling = found.unsettled_since ? element("p", { class: "warn" }, `! Not settled since ${moment(found.unsettled_since)}.`) : null;
  return [
    element("p", {}, "Strategy ", row.strategy ? element("b", {}, named(row.strategy)) : "not known", source ? `, ${source}` : "", `; ${plural(row.n_topics ?? 0, "topic")}.`),
    settling,
    tiles([
      [count(row.n_queues), "queues"],
      [count(row.n_clients), "clients"],
      [loads.length ? `${count(Math.min(...loads))} – ${count(Math.max(...loads))}` : "–", "queues per client"],
      [ratio(row.skew), "skew (max ÷ mean)"],
      [count(row.idle), "idle clients", worst(row.idle, "warn")],
      [count(row.unowned), "unowned queues", worst(row.unowned, "bad")],
      [count(row.double_owned), "double-owned queues", worst(row.double_owned, "bad")],
      [count(row.messages), "lag (messages)"],
    ]),
  ];
}

function findings(found, notKnown) {
  const unsure = notKnown.length ? element("p", { class: "soft" }, "Unknown, so no conclusion is drawn from it: ", notKnown.map(printable).join(", "), ".") : null;
  if (!found.length) return [element("p", { class: "good" }, "✓ No findings."), unsure];
  const items = found.map((one) => element("li", {},
    element("div", {}, mark(one.severity), element("b", {}, named(one.rule)), one.topic ? [" · ", named(one.topic)] : null, ": ", printable(one.message), " ", element("span", { class: "soft" }, printable(one.advice ?? "")))));
  return [element("ul", { class: "found" }, items), unsure];
}

function byClient(clients) {
  const most = clients.reduce((greatest, one) => Math.max(greatest, one.n_queues), 0);
  return table("By client, the most lag first", [
    { title: "client", cell: (one) => named(one.client_id) },
    { title: "queues", number: true, cell: (one) => (one.n_queues ? count(one.n_queues) : element("span", { class: "warn" }, "idle")) },
    { title: "load", bar: true, cell: (one) => bar(one.n_queues, most) },
    { title: "lag (messages)", number: true, cell: (one) => count(one.messages) },
    { title: "owners known", cell: (one) => printable(one.known ?? "–") },
  ], clients, { kind: "loads", empty: "No client is known." });
}

function byQueue(queues, total) {
  const list = element("div");
  const input = element("input", { type: "search", id: "queues", placeholder: "topic, broker or client", autocomplete: "off", spellcheck: "false" });
  const shown = element("output", { for: "queues" });
  const texts = queues.map((one) => `${one.topic} ${one.broker_name}:${one.queue_id} ${(one.owners ?? []).join(" ")} ${one.state}`.toLowerCase());
  const draw = () => {
    const word = input.value.trim().toLowerCase();
    const matched = queues.filter((_, i) => texts[i].includes(word));
    const cut = total > queues.length ? `; the service gave the first ${count(queues.length)} of ${count(total)}` : "";
    shown.textContent = `${count(matched.length)} of ${plural(queues.length, "queue")}${cut}`;
    list.replaceChildren(table("By queue, worst first", QUEUE_COLUMNS, matched, { kind: "cards", empty: "No queue matches." }));
  };
  input.addEventListener("input", draw);
  draw();
  return [element("div", { class: "filters" }, element("label", { for: "queues" }, "Queue"), input, shown), list];
}

const joined = (names) => (names?.length ? names.flatMap((name, i) => (i ? [", ", named(name)] : [named(name)])) : "nobody");
const queueName = (one) => element("span", {}, named(one.topic), " ", named(`${one.broker_name}:${one.queue_id}`));

const QUEUE_COLUMNS = [
  { title: "queue", cell: queueName },
  { title: "owner", cell: (one) => element("span", { class: (one.owners ?? []).length === 1 ? null : "bad" }, joined(one.owners)) },
  { title: "state", cell: (one) => (one.detail ? `${printable(one.state)}: ${printable(one.detail)}` : printable(one.state)) },
  { title: "lag (messages)", number: true, cell: (one) => count(one.messages) },
];

const EVENTS = {
  joined: (one) => ["client ", named(one.client_id), " joined"],
  left: (one) => ["client ", named(one.client_id), " left"],
  moved: (one) => [queueName(one), " moved from ", joined(one.before), " to ", joined(one.after)],
};

function changes(events) {
  if (!events.length) return element("p", { class: "soft" }, "No events since the service began to read the cluster.");
  const newest = [...events].reverse();
  return table("Newest first, with the two readings around each event", [
    { title: "seen first", cell: (one) => moment(one.first_seen_after) },
    { title: "what", cell: (one) => element("span", {}, EVENTS[one.kind]?.(one) ?? printable(one.kind)) },
    { title: "within (s)", number: true, cell: (one) => (one.last_seen_before ? about(one.first_seen_after - one.last_seen_before) : "–") },
  ], newest, { kind: "cards" });
}
