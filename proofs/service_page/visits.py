"""What is done on the page, and what is seen: one function per question."""

import base64
import json
import statistics
from pathlib import Path
from urllib.parse import quote

import chromium
import report_plans
from checkout import ROOT
from report_axe import RUN

from service_page.server import HOST, LARGE

SCREENS = {
    "light": {"size": (1160, 1240)},
    "dark": {"size": (1160, 1240), "is_dark": True},
    "phone": {"size": (390, 900), "is_phone": True},
}
DRAG = """(async () => {
  const slider = document.querySelector("#trial input[type=range]"), outcome = document.getElementById("outcome");
  const drawn = (wanted) => new Promise((done) => {
    const shown = () => JSON.parse(outcome.dataset.of || "{}").changes?.[0].scale_clients?.to;
    const look = () => shown() === wanted && (watch.disconnect(), done());
    const watch = new MutationObserver(look);
    watch.observe(outcome, {attributes: true});
  });
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const taken = [];
  for (let i = 0; i < CHANGES; i++) {
    const to = 20 + (i * 7) % 61 + (20 + (i * 7) % 61 >= 50);
    await new Promise((done) => setTimeout(done, 40)); // as a hand that drags
    const began = performance.now(), seen = drawn(to);
    slider.value = to;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    await seen; await frame();
    taken.push(performance.now() - began);
  }
  return taken;
})()"""
HELD = """(async () => {
  const slider = document.querySelector("#trial input[type=range]"), outcome = document.getElementById("outcome");
  const seen = [];
  const watch = new MutationObserver(() => seen.push(JSON.parse(outcome.dataset.of).changes[0].scale_clients.to));
  watch.observe(outcome, {attributes: true});
  for (let to = 51; to <= 90; to++) {
    slider.value = to;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    await new Promise((done) => setTimeout(done, 16));
  }
  while (seen.at(-1) !== 90) await new Promise((done) => setTimeout(done, 20));
  return seen;
})()"""
FOREIGN = "document.querySelectorAll('main :is(script, img, iframe, b b, [onerror], [onload], [style])').length"
FOCUSED = """(() => {
  const e = document.activeElement, style = getComputedStyle(e);
  if (e === document.body) return ["end", true];
  return [e.id || e.name || e.getAttribute("aria-label") || e.textContent.trim().slice(0, 40), style.outlineStyle !== "none"];
})()"""


class Visit(chromium.Page):
    """The page at an address on loopback."""

    def __init__(self, browser, url, **screen):
        super().__init__(browser, ROOT / "LICENSE", **screen)
        self.call("Page.navigate", url=url)
        browser.wait("Page.loadEventFired", self._session)
        self.until("Boolean(document.getElementById('main')?.dataset.shown)")

    def tried(self):
        """Wait until a plan is drawn."""
        self.until("Boolean(document.getElementById('outcome').dataset.of)")

    def later(self, expression):
        """The value of a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"]["value"]

    def picture_of(self, size, scale):
        """The top of the window as PNG, in a scale."""
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": scale}
        return base64.b64decode(
            self.call("Page.captureScreenshot", format="png", clip=clip)["data"]
        )

    def faults(self, name):
        """What the browser complains of, and what is wider than the window."""
        yield from (f"{name}: the browser says {one}" for one in self.complaints())
        if self.ask("document.documentElement.scrollWidth > innerWidth"):
            yield f"{name}: {self.ask('document.documentElement.scrollWidth')} px wide in a window of {self.ask('innerWidth')}"
        if "[object" in self.ask("document.body.textContent"):
            yield f"{name}: an element is shown as its name"
        elsewhere = [
            url
            for url in self.requests()
            if not url.startswith((f"http://{HOST}:", "file:", "about:"))
        ]
        yield from (f"{name}: asks {url}" for url in elsewhere)


def views(address):
    """The addresses of all views, by name, and whether a plan is waited for."""
    yield "groups", address, False
    yield "group", f"{address}#g=billing", False
    yield "try it", f"{address}#g=billing&clients=6&stop=2&strategy=CONSISTENT_HASH&nodes=160", True
    yield "try it, 1,000 queues", f"{address}#g={LARGE}&clients=48&lose=broker-3", True
    yield "refused", f"{address}#g=none-such", False


def screens(browser, address, folder):
    """Pictures of the group with something tried, in every screen; faults."""
    for name, screen in SCREENS.items():
        page = Visit(browser, f"{address}#g=billing&clients=6", **screen)
        page.tried()
        path = Path(folder, f"service-{name}.png")
        path.write_bytes(page.picture_of(screen["size"], 0.5 if screen.get("is_phone") else 1))
        if path.stat().st_size >= 150_000:
            yield f"{path.name} has {path.stat().st_size:,} bytes"
        yield from page.faults(f"screen {name}")


def accessible(browser, address, axe):
    """Violations of axe-core's rules in all views and screens; other faults."""
    script = Path(axe).read_text(encoding="utf-8") if axe else ""
    for screen, options in {**SCREENS, "320 px": {"size": (320, 640), "is_phone": True}}.items():
        for view, url, is_trial in views(address):
            page = Visit(browser, url, **options)
            if is_trial:
                page.tried()
                page.ask("document.querySelectorAll('details').forEach((one) => one.open = true)")
            expected = "404" if view == "refused" else None
            yield from (
                one
                for one in page.faults(f"{view}, {screen}")
                if not (expected and expected in one)
            )
            if script:
                page.call("Runtime.evaluate", expression=script)
                yield from (f"{view}, {screen}: axe: {one}" for one in json.loads(page.later(RUN)))
            page.call("Page.close")


def latency(browser, address, changes):
    """Milliseconds from each change of the slider to the frame that shows its plan of 1,000 queues."""
    page = Visit(browser, f"{address}#g={LARGE}&clients=49", size=(1160, 1500))
    page.tried()
    page.later(DRAG.replace("CHANGES", "5"))
    return page.later(DRAG.replace("CHANGES", str(changes)))


def held(browser, address):
    """A slider that is dragged without a pause: plans are drawn on the way, in order, and the last
    one last.
    """
    page = Visit(browser, f"{address}#g={LARGE}&clients=49", size=(1160, 1500))
    page.tried()
    seen = page.later(HELD)
    if len(seen) < 3 or seen != sorted(seen):
        yield f"a slider that is dragged draws {seen}"
    page.call("Page.close")


def token(browser, address, secret):
    """A service that wants a token: the page asks for it, sends it in a header, and keeps it out of
    the address.
    """
    page = Visit(browser, address)
    if page.ask("document.getElementById('token')?.type") != "password":
        yield "no token is asked for"
    page.ask(f"document.getElementById('token').value = {json.dumps(secret)}")
    page.ask("document.querySelector('#main form button').click()")
    page.until("document.querySelectorAll('#main tbody tr').length > 1")
    if secret in page.ask(
        "location.href + JSON.stringify([{...localStorage}, {...sessionStorage}])"
    ):
        yield "the token is kept"
    page.call("Page.close")


def percentiles(taken):
    """p50, p99 and the greatest."""
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    return cuts[49], cuts[98], max(taken)


def hostile(browser, address):
    """Names that attack whoever shows them, in the cluster and in the address: shown as text, none
    of them run.
    """
    names = [*report_plans.HOSTILE, "<b>broken</b>"]
    for i, name in enumerate(names):
        attack = quote(names[i % 4])
        page = Visit(
            browser,
            f"{address}#g={quote(name)}&without={attack}&lose={attack}&strategy={attack}&clients=<b>&stop=-1",
        )
        page.until("document.getElementById('main').dataset.shown === 'group'")
        if page.ask("document.querySelector('#trial')") is not None:
            page.tried()
        if page.ask(FOREIGN) or page.ask("document.title === 'owned'"):
            yield f"hostile name {name[:40]!r} became an element"
        yield from (one for one in page.faults(f"hostile name {name[:40]!r}") if " 40" not in one)
        page.call("Page.close")
    page = Visit(browser, address)
    shown = page.ask("document.getElementById('main').textContent")
    yield from (f"{name!r} is not shown as text" for name in names[:3] if name not in shown)
    yield from page.faults("hostile groups")


def keyboard(browser, address):
    """Faults of a walk by keys alone: from the search into a group, and to a plan that is said."""
    page = Visit(browser, address)
    walk = _walk(page, 12)
    yield from (f"keyboard: the focus of {name!r} is not seen" for name, seen in walk if not seen)
    names = [name for name, _ in walk]
    if names[:2] != ["skip", "rmqalloc"] or "search" not in names:
        yield f"keyboard: the walk is {names}"
    page.ask("document.querySelector('tbody a').focus()")
    page.press("Enter", 13)
    page.until("document.getElementById('main').dataset.shown === 'group'")
    if page.ask("document.activeElement.tagName") != "H1":
        yield "keyboard: the focus is not on the heading of the group"
    walk = _walk(page, 12)
    yield from (f"keyboard: the focus of {name!r} is not seen" for name, seen in walk if not seen)
    if "clients" not in [name for name, _ in walk]:
        yield f"keyboard: the walk in a group is {walk}"
    page.ask("document.getElementById('clients').focus()")
    page.press("ArrowUp", 38)
    page.tried()
    said = page.ask("document.getElementById('said').textContent")
    if "change owner" not in said:
        yield f"keyboard: {said!r} is said"
    page.until("location.hash.includes('clients=5')")


def _walk(page, steps):
    def step():
        page.press("Tab", 9)
        return tuple(page.ask(FOCUSED))

    return [step() for _ in range(steps)]
