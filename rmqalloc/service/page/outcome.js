// What a plan says of one scenario of one group: figures before and after, what moves, the worst moment meanwhile.

import { about, bar, change, count, element, named, plural, printable, ratio, table, tiles } from "./elements.js";

const HOW = { notice: "each client is notified", routes: "clients detect the change by their routes", deployment: "each client is redeployed", timer: "clients detect the change by their timers", scan: "brokers detect the change by their scan", crash: "brokers detect a crashed client by their scan" };

/** Return the sentence that is said aloud, and the elements that show the plan; `moved` asks for the queues that change. */
export function drawn(plan, data, moved) {
  const scenario = data.name;
  const [before, after] = ["current", scenario].map((name) => (plan.groups ?? []).find((row) => row.scenario === name) ?? {});
  const meanwhile = (plan.transitions ?? [])[0];
  const errors = [...new Set((plan.units ?? []).filter((row) => row.err_msg).map((row) => row.err_msg))];
  const clients = loads((plan.clients ?? []).filter((row) => row.scenario === scenario));
  return {
    sentence: sentence(before, after, meanwhile),
    parts: [
      ...[...errors, ...(plan.warnings ?? [])].map((text) => element("p", { class: "warn" }, "! ", printable(text))),
      figures(before, after, meanwhile),
      byClient(clients),
      movedQueues(moved),
      element("details", {}, element("summary", {}, "The same for rmqalloc plan"), element("p", { class: "soft" }, "Save as what-if.json, then: ", element("code", {}, "rmqalloc plan --scenario what-if.json")), element("pre", { tabindex: "0" }, printable(JSON.stringify({ scenarios: [data] })))),
    ],
  };
}

function sentence(before, after, meanwhile) {
  const worst = meanwhile ? `; at the worst moment ${plural(meanwhile.unowned, "queue")} unowned${seconds(meanwhile, "unowned")}` : "";
  return `${count(after.moved)} of ${plural(after.n_queues ?? 0, "queue")} change owner; queues per client ${range(before)} → ${range(after)}${worst}.`;
}

const range = (row) => (row.max_load === null || row.max_load === undefined ? "–" : `${count(row.min_load)} – ${count(row.max_load)}`);
const worse = (before, after, kind) => ((after ?? 0) > (before ?? 0) ? kind : "");

function seconds(row, kind) {
  const most = row[`${kind}_seconds_worst`];
  return most === null || most === undefined || !row[kind] ? "" : ` for ${about(most)} s at most`;
}

function figures(before, after, meanwhile) {
  const share = after.n_queues ? `${about((100 * after.moved) / after.n_queues)} %; least possible ${count(after.least_moves)}` : "";
  const both = (name, format) => change(before[name], after[name], format);
  const moment = (kind, label, colour) => {
    if (!meanwhile) return ["–", `${label} at the worst moment`, "", "not computed"];
    const most = meanwhile[`${kind}_is_exact`] === false ? "≤ " : "";
    const expected = meanwhile[`${kind}_expected`];
    const more = [expected === null || expected === undefined ? "" : `${about(expected)} expected`, seconds(meanwhile, kind).replace(" for ", "")].filter(Boolean).join(", ");
    return [`${most}${count(meanwhile[kind])}`, `${label} at the worst moment`, meanwhile[kind] ? colour : "good", more];
  };
  return element("div", {},
    tiles([
      [`${count(after.moved)} of ${count(after.n_queues)}`, "queues moved", "", share],
      [both("n_clients"), "clients"],
      [range(before) === range(after) ? range(after) : `${range(before)} → ${range(after)}`, "queues per client"],
      [both("skew", ratio), "skew (max ÷ mean)", worse(before.skew, after.skew, "warn")],
      [both("idle"), "idle clients", worse(before.idle, after.idle, "warn")],
      [both("unowned"), "unowned afterwards", worse(before.unowned, after.unowned, "bad")],
      moment("unowned", "unowned", "warn"),
      moment("double_owned", "double-owned", "warn"),
    ]),
    meanwhile ? element("p", { class: "soft" }, `Worst moment: the largest number of queues at one time while clients rebalance one after another; ${HOW[meanwhile.informed_by] ?? printable(meanwhile.informed_by)}.`) : null);
}

/** Return the loads of each client, topics together; those that change most stand first. */
function loads(rows) {
  const found = new Map();
  for (const row of rows) {
    const one = found.get(row.client_id) ?? { client_id: row.client_id, status: row.status, before: 0, after: 0, gained: 0, lost: 0 };
    for (const name of ["before", "after", "gained", "lost"]) one[name] += row[name] ?? 0;
    found.set(row.client_id, one);
  }
  return [...found.values()];
}

const SIGNS = { new: "+ ", gone: "− " };

function byClient(clients) {
  const most = clients.reduce((greatest, one) => Math.max(greatest, one.before, one.after), 0);
  return table("Queues by client, before and after; + joins, − leaves", [
    { title: "client", cell: (one) => [SIGNS[one.status] ?? "", named(one.client_id)] },
    { title: "before", number: true, cell: (one) => count(one.before) },
    { title: "load before", bar: true, cell: (one) => bar(one.before, most, "rest") },
    { title: "after", number: true, cell: (one) => count(one.after) },
    { title: "load after", bar: true, cell: (one) => bar(one.after, most) },
    { title: "gained", number: true, cell: (one) => count(one.gained) },
    { title: "lost", number: true, cell: (one) => count(one.lost) },
  ], clients, { kind: "loads", empty: "No client is left." });
}

const owner = (name, others) => (name ? [named(name), ...(others ?? []).flatMap((other) => [", ", named(other)])] : "nobody");

/** The rows come when they are looked at: a slider that is dragged shall not wait for them. */
function movedQueues(ask) {
  const details = element("details", {}, element("summary", {}, "Queues that change"));
  details.addEventListener("toggle", async () => {
    if (details.childElementCount > 1) return;
    const place = element("div", {}, "…");
    details.append(place);
    try {
      place.replaceChildren(table("Queues that change owner, appear or disappear", MOVED_COLUMNS, await ask(), { kind: "cards" }));
    } catch (error) {
      place.replaceChildren(element("p", { class: "bad" }, "✗ ", printable(error.message)));
    }
  });
  return details;
}

const MOVED_COLUMNS = [
  { title: "queue", cell: (row) => element("span", {}, named(row.topic), " ", named(`${row.broker_name}:${row.queue_id}`)) },
  { title: "from", cell: (row) => element("span", {}, owner(row.owner_before, row.others_before)) },
  { title: "to", cell: (row) => element("span", {}, owner(row.owner_after, row.others_after)) },
  { title: "change", cell: (row) => printable(row.change) },
  { title: "lag (messages)", number: true, cell: (row) => count(row.lag) },
];
