"""A page of what the verbs say of real clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from programs import python

LONGEST = 60  # lines of one answer that are shown


class Page:
    """Collects what the verbs say."""

    def __init__(self) -> None:
        self._parts = ["# What the verbs say of real clusters that are easily read wrong\n"]

    def add(self, title: str, name_server: str, *groups: str, scale: str = "4") -> None:
        """A section with what snapshot, plan and check say of groups."""
        self.say(f"## {title}")
        for verb in (["snapshot", "--out", "/dev/null"], ["plan", "--scale", scale], ["check"]):
            self.run(name_server, *verb, groups=groups)

    def run(
        self,
        name_server: str,
        *verb: str,
        groups: Sequence[str] = (),
        hidden: Mapping[str, str] | None = None,
    ) -> None:
        """What a verb says of groups; hidden are texts of no interest, with what stands for each."""
        patterns = [part for group in groups for part in ("-g", group)]
        done = python("-m", "rmqalloc", *verb, *patterns, "-n", name_server)
        said = [
            *done.stdout.splitlines(),
            *(f"(stderr) {line}" for line in done.stderr.splitlines()),
        ]
        more = [f"... {len(said) - LONGEST} more lines"] if len(said) > LONGEST else []
        command = " ".join(["rmqalloc", *verb, *patterns, "-n", name_server])
        text = "\n".join([f"$ {command}", *said[:LONGEST], *more])
        for one, instead in {name_server: "NAME_SERVER", **(hidden or {})}.items():
            text = text.replace(one, instead)
        self.say(f"```console\n{text}\n(exit {done.returncode})\n```")

    def say(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"{text}\n")

    def text(self) -> str:
        """All of it."""
        return "\n".join(self._parts)

    def write(self, path: str) -> None:
        """Write the page."""
        Path(path).write_text(self.text(), encoding="utf-8")
