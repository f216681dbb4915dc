// The state of the page as the fragment of its address, which is shared by copying it. Whatever is no value of its kind is dropped.

const MOST = { clients: 100000, stop: 100000, queues: 65536, nodes: 65536 };
const WHOLE = /^(0|[1-9][0-9]{0,5})$/;

/** Return {group, search, trial} of a fragment; a trial holds only what is changed. */
export function stateOf(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const trial = { lose: given.getAll("lose").filter(Boolean) };
  for (const name of Object.keys(MOST)) {
    const text = given.get(name) ?? "";
    if (WHOLE.test(text) && Number(text) <= MOST[name]) trial[name] = Number(text);
  }
  for (const name of ["without", "strategy"]) if (given.get(name)) trial[name] = given.get(name);
  return { group: given.get("g") || null, search: given.get("q") ?? "", trial };
}

/** Return the fragment of a state. */
export function hashOf({ group, search, trial = {} }) {
  const pairs = [];
  if (search) pairs.push(["q", search]);
  if (group) pairs.push(["g", group]);
  for (const [name, value] of Object.entries(trial)) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") pairs.push([name, String(one)]);
  }
  return `#${new URLSearchParams(pairs)}`;
}

/** Write a state into the address without a new entry of the history. */
export function replaceAddress(state) {
  history.replaceState(null, "", hashOf(state));
}
