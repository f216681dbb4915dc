"""A real browser for tests: headless Chromium, spoken to by the protocol of its developer tools
over a pair of pipes.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from itertools import count
from pathlib import Path

import tied

HOW_TO_INSTALL = (
    "needs Chromium: apt-get install chromium (Debian, Ubuntu), dnf install chromium (Fedora)"
)
SECONDS = 180
_MIDDLE = """(e => {
  e.scrollIntoView({block: "center"});
  const r = e.getBoundingClientRect();
  return [r.x + r.width / 2, r.y + r.height / 2];
})"""


def find():
    """Where Chromium or Chrome is installed, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


class Chromium:
    """One browser without any network but addresses that it is told; as a context manager it ends
    when the context does.
    """

    def __init__(self, profile, reachable=()):
        (theirs_in, self._to), (self._from, theirs_out) = _pipe(), _pipe()
        flags = [
            "--headless",
            "--no-sandbox",  # only pages of the tests are opened, and containers often lack what the sandbox needs
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            ", ".join(
                [
                    "--host-resolver-rules=MAP * ~NOTFOUND",
                    *(f"EXCLUDE {address}" for address in reachable),
                ]
            ),
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]
        # The browser reads its orders from descriptor 3 and answers on 4.
        script = 'exec "${@:3}" 3<&"$1" 4>&"$2"'
        self._process = tied.popen(
            ["bash", "-c", script, "bash", str(theirs_in), str(theirs_out), find(), *flags],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers, self._rest, self._events = count(1), b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(SECONDS)
        os.close(self._to)
        os.close(self._from)

    def call(self, method, session=None, **params):
        """Send one order and wait for its answer; what happens meanwhile is kept as events."""
        number = next(self._numbers)
        order = {"id": number, "method": method, "params": params} | (
            {"sessionId": session} if session else {}
        )
        os.write(self._to, json.dumps(order).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while (message := self._next(until)).get("id") != number:
            self._events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def wait(self, method, session):
        """Wait for an event of that name, and take it."""
        until = time.monotonic() + SECONDS
        while not (found := [event for event in self._events if _is(event, method, session)]):
            self._events.append(self._next(until))
        self._events.remove(found[0])
        return found[0]["params"]

    def events(self, method, session):
        """Events of that name so far."""
        return [event["params"] for event in self._events if _is(event, method, session)]

    def _next(self, until):
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium did not answer in {SECONDS} s")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError(f"Chromium has ended with {self._process.wait(SECONDS)}")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


class Page:
    """One page in it; on a phone its window is as wide as the page asks for, or wider where
    something does not fit.
    """

    def __init__(
        self,
        browser,
        path,
        is_dark=False,
        size=(1200, 1500),
        has_scripts=True,
        is_phone=False,
        forced_colors=False,
    ):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        sizes = {"width": size[0], "height": size[1], "deviceScaleFactor": 3 if is_phone else 1}
        self.call("Emulation.setDeviceMetricsOverride", mobile=is_phone, **sizes)
        self.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)
        features = {"prefers-color-scheme": "dark" if is_dark else "light"}
        features |= {"forced-colors": "active"} if forced_colors else {}
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": n, "value": v} for n, v in features.items()],
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not has_scripts)
        self.url = Path(path).resolve().as_uri()
        self.call("Page.navigate", url=self.url)
        browser.wait("Page.loadEventFired", self._session)

    def call(self, method, **params):
        """Send an order to this page."""
        return self._browser.call(method, self._session, **params)

    def ask(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def until(self, expression):
        """Wait until a JavaScript expression is true in the page; styles may take effect a frame
        later.
        """
        end = time.monotonic() + SECONDS
        while self.ask(expression) is not True:
            if time.monotonic() > end:
                raise TimeoutError(f"not true in {SECONDS} s: {expression}")
            time.sleep(0.02)

    def click(self, selector):
        """Press and release the mouse in the middle of an element."""
        x, y = self.ask(f"{_MIDDLE}(document.querySelector({json.dumps(selector)}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, code):
        """Press a key, such as Tab (9) or Enter (13)."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **text,
            )

    def requests(self):
        """Everything the page asked for."""
        return [
            event["request"]["url"]
            for event in self._browser.events("Network.requestWillBeSent", self._session)
        ]

    def complaints(self):
        """What the browser logged: errors of scripts, breaches of the page's policy."""
        logged = [
            event["entry"]["text"]
            for event in self._browser.events("Log.entryAdded", self._session)
        ]
        return logged + self._browser.events("Runtime.exceptionThrown", self._session)

    def picture(self):
        """The window as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def printed(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


def _pipe():
    """A pipe whose ends are out of the way of the numbers that the browser wants."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved


def _is(event, method, session):
    return event.get("method") == method and event.get("sessionId") == session
