// The page: shows the view that the address names.

import { onAnswer, useToken } from "./answers.js";
import { hashOf, stateOf } from "./address.js";
import { about, element, moment, named, printable, shortened } from "./elements.js";
import { groupView } from "./group.js";
import { groupsView } from "./groups.js";

const main = document.getElementById("main");
const state = document.getElementById("state");
const where = document.getElementById("where");
let search = "";
let turn = 0;

async function show(isFirst) {
  const mine = ++turn;
  const wanted = stateOf(location.hash);
  if (!wanted.group) search = wanted.search;
  main.setAttribute("aria-busy", "true");
  let view;
  try {
    view = wanted.group ? await groupView(wanted) : await groupsView(wanted);
  } catch (error) {
    view = refusal(error);
  }
  if (mine !== turn) return;
  main.replaceChildren(view);
  main.setAttribute("aria-busy", "false");
  document.title = `${wanted.group ? shortened(wanted.group) : "Consumer groups"} – rmqalloc`;
  where.replaceChildren(...(wanted.group ? [" / ", element("a", { href: hashOf({ search }) }, "groups"), " / ", named(wanted.group)] : [" / groups"]));
  main.dataset.shown = wanted.group ? "group" : "groups";
  if (!isFirst) focusHeading();
}

function focusHeading() {
  window.scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

function refusal(error) {
  const again = element("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => show(false));
  return element("section", { role: "alert" }, element("h1", { tabindex: "-1" }, "No answer"), element("p", { class: "bad" }, "✗ ", printable(error.message)), error.needsToken ? tokenForm() : again);
}

function tokenForm() {
  const input = element("input", { type: "password", id: "token", autocomplete: "off" });
  const form = element("form", { class: "filters" }, element("label", { for: "token" }, "Token of the service"), input, element("button", {}, "Use it"));
  form.addEventListener("submit", (event) => {
    event.preventDefault(); // it goes into a header, never into an address
    useToken(input.value.trim());
    show(false);
  });
  return form;
}

onAnswer(({ readAt, age, notCurrent }) => {
  if (!age) return;
  const text = notCurrent ? `! Not current: ${notCurrent}. ` : `Cluster read ${moment(readAt)}, ${about(Number(age))} s old. `;
  if (!state.firstChild) state.append(element("span"), reloadButton());
  if (state.firstChild.textContent !== text) state.firstChild.textContent = text;
  state.firstChild.className = notCurrent ? "warn" : "";
});

function reloadButton() {
  const button = element("button", { type: "button" }, "Reload");
  button.addEventListener("click", () => show(false));
  return button;
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment is the state of the page
  main.focus();
});
window.addEventListener("hashchange", () => show(false));
show(true);
