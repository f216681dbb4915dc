// Try it: a form of changes, and what the service's plan says of them. While an answer is awaited, the newest change waits.

import { NewestOnly, ask, planPath } from "./answers.js";
import { hashOf, replaceAddress } from "./address.js";
import { count, element, named, printable, shortened } from "./elements.js";
import { drawn } from "./outcome.js";

const NAME = "what-if";
const NEW_BROKER = "what-if-broker";
const RINGS = ["CONSISTENT_HASH", "CONSISTENT_HASH_BOUNDED/1"];
const STRATEGIES = ["AVG", "AVG_BY_CIRCLE", ...RINGS, "MACHINE_ROOM_NEARBY", "STABLE/1", "ORDINAL/1", "ROTATED/1"];
const PAUSE = 200; // milliseconds until the address follows: browsers refuse to have it written all the time

/** Return the scenario of a trial, null where nothing is changed. The clients that stop at once do so last. */
export function scenarioOf(trial) {
  const changes = [];
  if (trial.clients !== undefined) changes.push({ scale_clients: { to: trial.clients } });
  if (trial.without) changes.push({ remove_clients: { ids: [trial.without] } });
  if (trial.lose?.length) changes.push({ remove_broker: { brokers: trial.lose.map(literal) } });
  if (trial.queues) changes.push({ add_broker: { broker_name: NEW_BROKER, read_queue_nums: trial.queues } });
  if (trial.strategy) changes.push({ set_strategy: strategyOf(trial) });
  if (trial.stop) changes.push({ remove_clients: { count: trial.stop, which: "spread" } });
  return changes.length ? { name: NAME, changes } : null;
}

/** Brokers are named by patterns: a mark of one stands for itself in brackets. */
const literal = (name) => name.replace(/[*?[]/g, "[$&]");

function strategyOf({ strategy, nodes }) {
  const made = { strategy };
  return RINGS.includes(strategy) && nodes ? { ...made, params: { virtual_nodes: nodes } } : made;
}

/** Return the section that tries changes of one group. */
export function trialSection(state, row, clients, queues) {
  const result = element("div", { id: "outcome" });
  const said = element("p", { id: "said", role: "status", "aria-live": "polite" });
  const form = trialForm(state.trial, row, clients, queues);
  let timer = 0;
  const plans = new NewestOnly(async (signal) => {
    const scenario = scenarioOf(form.read());
    if (!scenario) {
      said.textContent = "No change yet. Change a value above to see the new owners and the moved queues.";
      return finish(result, "", []);
    }
    try {
      const plan = await ask(planPath(state.group), { body: { scenarios: [scenario] }, signal });
      const { sentence, parts } = drawn(plan, scenario, () => moved(state.group, scenario));
      said.textContent = sentence;
      finish(result, JSON.stringify(scenario), parts);
    } catch (error) {
      if (error.name === "AbortError") return;
      said.textContent = "The change cannot be planned.";
      finish(result, JSON.stringify(scenario), [element("p", { class: "bad" }, "✗ ", printable(error.message))]);
    }
  });
  const changed = () => {
    form.copied.textContent = "";
    clearTimeout(timer);
    timer = setTimeout(() => form.node.isConnected && replaceAddress({ group: state.group, trial: form.read() }), PAUSE);
    plans.run();
  };
  form.node.addEventListener("input", changed);
  form.node.addEventListener("submit", (event) => event.preventDefault());
  form.node.addEventListener("reset", () => setTimeout(changed));
  form.copy.addEventListener("click", () => copyLink(hashOf({ group: state.group, trial: form.read() }), form.copied));
  plans.run();
  return element("section", { id: "trial" }, element("h2", {}, "Try it"), form.node, said, result);
}

/** Ask for the queues that change: most of a plan's bytes, so only once they are looked at. */
async function moved(group, scenario) {
  const plan = await ask(planPath(group, "queues"), { body: { scenarios: [scenario] } });
  return plan.queues.filter((row) => row.scenario === scenario.name && row.change !== "kept");
}

/** Show the parts; what was unfolded stays so. */
function finish(result, of, parts) {
  const open = [...result.querySelectorAll("details")].map((one) => one.open);
  result.replaceChildren(...parts);
  result.querySelectorAll("details").forEach((one, i) => (one.open = open[i] ?? false));
  result.dataset.of = of;
}

async function copyLink(hash, said) {
  const link = new URL(hash, location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    said.textContent = "Copied.";
  } catch {
    said.textContent = "Copy the address of this page instead: it contains the changes.";
  }
}

function trialForm(trial, row, clients, queues) {
  const now = row.n_clients ?? clients.length;
  const number = whole("clients", "Clients", trial.clients ?? now, 100000, now, `now ${count(now)}`);
  const slider = element("input", { type: "range", min: 0, max: Math.max(10, 2 * now), value: now, "aria-label": "Clients, by a slider" });
  slider.value = trial.clients ?? now;
  const without = choice("without", "One client leaves", [["", "none"], ...clients.map((one) => [one.client_id, one.client_id]).sort()], trial.without, "a present client");
  const stop = whole("stop", "Stop at once", trial.stop ?? 0, 100000, 0, "clients, spread");
  const strategy = choice("strategy", "Strategy", [["", "as now"], ...STRATEGIES.map((one) => [one, one])], trial.strategy, `now ${shortened(row.strategy ?? "not known")}`);
  const nodes = whole("nodes", "Virtual nodes", trial.nodes ?? 10, 65536, 10, "per client on the ring");
  const added = whole("queues", "New broker with", trial.queues ?? 0, 65536, 0, "queues of each topic");
  const brokers = brokerBoxes(queues, trial.lose);
  const copy = element("button", { type: "button" }, "Copy link");
  const copied = element("span", { role: "status", class: "soft" });
  const buttons = element("div", { class: "buttons" }, element("button", { type: "reset" }, "Reset"), copy, copied);
  const node = element("form", { class: "trial", "aria-label": "Changes to try" },
    element("div", { class: "fields" }, wrapped(number, slider), without.node, stop.node, strategy.node, nodes.node, added.node), brokers.node, buttons);
  slider.addEventListener("input", () => (number.input.value = slider.value));
  number.input.addEventListener("input", () => (slider.value = number.input.value));
  const ring = () => (nodes.node.hidden = !RINGS.includes(strategy.input.value));
  strategy.input.addEventListener("input", ring);
  node.addEventListener("reset", () => setTimeout(ring));
  ring();
  const read = () => ({
    clients: given(number.input, now),
    without: without.input.value,
    stop: given(stop.input, 0),
    lose: brokers.read(),
    queues: given(added.input, 0),
    strategy: strategy.input.value,
    nodes: RINGS.includes(strategy.input.value) ? given(nodes.input, 0) : undefined,
  });
  return { node, read, copy, copied };
}

const wrapped = (field, more) => {
  field.node.append(more);
  return field.node;
};

function given(input, now) {
  const value = input.valueAsNumber;
  return Number.isInteger(value) && value >= 0 && value <= Number(input.max) && value !== now ? value : undefined;
}

/** A field for a whole number: `value` is shown now, `start` after a reset. */
function whole(id, label, value, max, start, unit) {
  const input = element("input", { type: "number", id, min: 0, max, step: 1, value: start, inputmode: "numeric", "aria-describedby": `${id}-unit` });
  input.value = value;
  return { input, node: element("div", { class: "field" }, element("label", { for: id }, label), input, element("span", { class: "soft", id: `${id}-unit` }, unit)) };
}

/** A list to choose from; a value that it does not have (of an address) is added as it is, for the service to judge. */
function choice(id, label, values, chosen = "", unit) {
  const there = values.some(([value]) => value === chosen) ? values : [...values, [chosen, chosen]];
  const input = element("select", { id, "aria-describedby": `${id}-unit` }, there.map(([value, text]) => element("option", { value }, printable(text))));
  input.value = chosen;
  return { input, node: element("div", { class: "field" }, element("label", { for: id }, label), input, element("span", { class: "soft", id: `${id}-unit` }, unit)) };
}

function brokerBoxes(queues, lose = []) {
  const counts = new Map();
  for (const { broker_name: name } of queues) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const name of lose) if (!counts.has(name)) counts.set(name, 0);
  const boxes = [...counts].sort().map(([name, n]) => {
    const input = element("input", { type: "checkbox", name: "lose" });
    input.checked = lose.includes(name);
    return { name, input, node: element("label", {}, input, named(name), element("span", { class: "soft" }, ` ${count(n)}`)) };
  });
  const node = element("fieldset", {}, element("legend", {}, "Lose brokers ", element("span", { class: "soft" }, "(and their queues)")), element("div", { class: "boxes" }, boxes.map((one) => one.node)));
  return { node, read: () => boxes.filter((one) => one.input.checked).map((one) => one.name) };
}
