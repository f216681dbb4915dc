"""The page of the docs with its runtime beside it, and one visit to it in headless Chromium."""

import contextlib
import functools
import http.server
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import chromium
from checkout import ROOT

from platforms.browser.releases import RUNTIME_FILES, MissingError

HOST = "127.0.0.1"
HOSTILE = '<img src=x onerror="parent.stolen=1"><script>parent.stolen=1</script>'


def yaml_archive(folder):
    """PyYAML's Python files, which need no libyaml, from the installed package: its name in the
    folder.
    """
    import yaml

    with zipfile.ZipFile(folder / "yaml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(yaml.__file__).parent.glob("*.py")):
            archive.write(path, f"yaml/{path.name}")
    return "yaml.zip"


def assemble(node, facts, site):
    """The site by mkdocs, and the runtime in ``try/runtime`` of it; the bytes of the runtime."""
    mkdocs = Path(sys.executable).with_name("mkdocs")
    if not mkdocs.exists():
        raise MissingError(
            f"no mkdocs in this environment: {sys.executable} -m pip install -r docs/requirements.txt"
        )
    command = [str(mkdocs), "build", "--strict", "--site-dir", str(site)]
    subprocess.run(
        command, cwd=ROOT, check=True, env={"PATH": "/usr/bin:/bin", "NO_MKDOCS_2_WARNING": "1"}
    )
    return fill(node, facts, site / "try" / "runtime")


def fill(node, facts, folder):
    """Lay the runtime, the wheels and what they are into a folder; its bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in (*RUNTIME_FILES, "pyodide-lock.json", *node.wheels, *node.archives):
        if (node.runtime / name).exists():
            shutil.copy(node.runtime / name, folder / name)
    about = {"python": facts["python"], "wheels": node.wheels, "archives": node.archives}
    (folder / "about.json").write_text(json.dumps(about))
    return sum(path.stat().st_size for path in folder.iterdir())


@contextlib.contextmanager
def served(site):
    """The site on loopback, handed out as files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()


class Visit(chromium.Page):
    """The page, opened by its address on loopback."""

    def __init__(self, browser, url):
        super().__init__(browser, ROOT / "LICENSE")
        self.url = url
        self.call("Page.navigate", url=url)
        browser.wait("Page.loadEventFired", self._session)

    def planned(self, snapshot=None, seconds=240):
        """Press the button, and wait for the plan or the error: seconds, state, text of the plan."""
        if snapshot is not None:
            self.ask(f"document.getElementById('try-snapshot').value = {json.dumps(snapshot)}")
        self.ask("document.getElementById('try-state').dataset.state = ''")
        started = time.monotonic()
        self.ask("document.getElementById('try-run').click()")
        while self.ask("document.getElementById('try-state').dataset.state") not in (
            "planned",
            "error",
        ):
            if time.monotonic() > started + seconds:
                raise TimeoutError(
                    f"no plan in {seconds} s: {self.text('try-state')}, {self.complaints()}"
                )
            time.sleep(0.2)
        return time.monotonic() - started, self.text("try-state"), self.text("try-plan")

    def text(self, identifier):
        """What an element shows."""
        return self.ask(f"document.getElementById({json.dumps(identifier)}).textContent")


def visit(site, pictures):
    """Plan the page's own example, then a snapshot whose names are markup: what was seen."""
    if chromium.find() is None:
        raise MissingError(chromium.HOW_TO_INSTALL)
    pictures.mkdir(parents=True, exist_ok=True)
    with (
        served(site) as address,
        tempfile.TemporaryDirectory() as profile,
        chromium.Chromium(profile, [HOST]) as browser,
    ):
        page = Visit(browser, f"{address}/try.html")
        example = page.ask("document.getElementById('try-snapshot').value")
        seen = {"example": example, "first": page.planned(), "second": page.planned()}
        (pictures / "page.png").write_bytes(page.picture())
        page.ask("document.getElementById('try-report').scrollIntoView()")
        (pictures / "report.png").write_bytes(page.picture())
        hostile = example.replace("order-svc", json.dumps(HOSTILE)[1:-1])
        seen["hostile"] = page.planned(hostile)
        seen["stolen"] = page.ask("typeof window.stolen")
        seen["elements"] = page.ask("document.querySelectorAll('#try-plan *, #try-state *').length")
        seen["sandbox"] = page.ask("document.getElementById('try-report').getAttribute('sandbox')")
        seen["mistake"] = page.planned('{"kind": "<b>')
        seen["elsewhere"] = [
            url
            for url in page.requests()
            if not url.startswith((address, "file:", "data:", "about:"))
        ]
        seen["complaints"] = [str(one) for one in page.complaints() if "favicon" not in str(one)]
    return seen


def faults(seen):
    """What is wrong with a visit."""
    checks = {
        "the plan of the example is not shown": "order-svc" in seen["first"][2]
        and "Plan:" in seen["first"][2],
        "the second plan is another": seen["first"][2] == seen["second"][2],
        "hostile names are not shown as text": HOSTILE in seen["hostile"][2],
        "hostile names became elements": seen["elements"] == 0,
        "hostile names ran": seen["stolen"] == "undefined",
        "the frame of the report may do something": seen["sandbox"] == "",
        "an input that is no snapshot gives no error": not seen["mistake"][1].startswith("Planned"),
        "the page asked elsewhere": not seen["elsewhere"],
    }
    return [what for what, holds in checks.items() if not holds]
