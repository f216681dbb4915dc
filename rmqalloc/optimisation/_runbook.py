"""A way to carry out a change as numbered steps: the commands of each, and what should be seen
after it.

Names come from snapshots and may hold anything. Where a command needs a name as it is, it is quoted
for the shell; elsewhere it is made printable first, so that no name ends a line, a comment or a
block of code.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple

from rmqalloc.client_ids import host_of
from rmqalloc.globs import literal
from rmqalloc.optimisation._acts import Act, GroupChange
from rmqalloc.optimisation._ways import Way
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import counted, printable

_SERVERS = '-n "$NAMESRV_ADDR"'
_ROLLED_OUT = 'kubectl rollout status "$WORKLOAD" --timeout=10m'
_LEAVES_FIRST = "controller.kubernetes.io/pod-deletion-cost=-1000"
_NEEDS = (
    "`NAMESRV_ADDR` is `HOST:PORT` of a name server. `WORKLOAD` is what runs the clients, one in each pod, such as "
    "`deployment/orders`. A pod is found by the address in the client's id; where that holds none, set `POD` to its name. "
    "Go on only if what is expected is seen."
)

_WHILE_SWITCHING = (
    "The figures are those of clients that keep their ids and stay while they change their strategy. Where a pod restarts for "
    "it, its queues are without an owner besides: `rmqalloc rollout restart` shows what that costs."
)


class Entry(NamedTuple):
    """One numbered step of a runbook."""

    action: str
    commands: list[str]
    expected: str


class Runbook(NamedTuple):
    """What the runbook of one way is made from.

    Attributes
    ----------
    snapshot : Snapshot
    consumer_group : str
    change : GroupChange
    way : Way
    order : str
        Name of the order.
    ids : str
        As of `rmqalloc.optimisation.optimise`.
    acts : list of Act
    steps : list of dict
        Rows of `Rollout.steps`, of every act one, and before them the state before.
    """

    snapshot: Snapshot
    consumer_group: str
    change: GroupChange
    way: Way
    order: str
    ids: str
    acts: Sequence[Act]
    steps: Sequence[dict[str, Any]]

    def entries(self) -> list[Entry]:
        """Return all steps."""
        first = Entry(
            "look at what is there, and at what the change does",
            [self._snapshot("before.json"), *self._foreseen(), self._check],
            f"exit code 0: {counted(self.change.choices.n_now, 'client')}, nothing is wrong",
        )
        last = self.steps[-1]
        loads = (
            f"loads from {last['min_load']:,} to {last['max_load']:,} queues, {last['idle']:,} idle"
        )
        after = Entry(
            "look at what has become of it",
            [self._snapshot("after.json"), self._check],
            f"exit code 0: {counted(last['n_clients'], 'client')}, {loads}",
        )
        return [first, *self._done(), after]

    def _done(self) -> Iterator[Entry]:
        """Yield the acts; a pod that is deleted comes back by itself, so stopping and starting are
        one step then.
        """
        rows = deque(zip(self.acts, self.steps[1:], strict=True))
        last = next((act for act in reversed(self.acts) if act.kind == "switch"), None)
        while rows:
            act, row = rows.popleft()
            in_step = [row]
            if act.kind == "stop" and not self.way.surge:
                in_step.append(rows.popleft()[1])
            action = ", ".join(
                dict.fromkeys([row["action"], in_step[-1]["action"].rpartition(": ")[2]])
            )
            action = row["action"] if len(in_step) == 1 else action
            yield Entry(
                action,
                [*self._commands(act), self._check],
                self._expected(in_step, act.kind == "switch" and act is not last),
            )

    def _expected(self, rows: Sequence[dict[str, Any]], is_split: bool) -> str:
        moved = sum(row["moved"] for row in rows)
        unowned, double = (
            max(row[name] for row in rows) for name in ("unowned_written", "double_owned")
        )
        meanwhile = f"{counted(moved, 'queue')} moved; at the worst moment {unowned:,} without an owner, {double:,} with two"
        if is_split:
            return f"exit code 2: the clients' strategies differ until the last of them has changed; {meanwhile}"
        return f"exit code 0: {counted(rows[-1]['n_clients'], 'client')}; {meanwhile}"

    def _commands(self, act: Act) -> list[str]:
        ids = [self.change.everyone.ids[one] for one in act.positions.tolist()]
        replicas = f'kubectl scale "$WORKLOAD" --replicas={act.n_clients}'
        if act.kind in ("read", "write"):
            return self._updates(act)
        if act.kind in ("join", "start"):
            return [replicas, _ROLLED_OUT]
        if act.kind == "leave" or self.way.surge:
            return [
                *(f"kubectl annotate --overwrite {_pod(one, _LEAVES_FIRST)}" for one in ids),
                replicas,
                _ROLLED_OUT,
            ]
        begin = (
            [f"# they are to start with {_shown(self.change.labels[self.way.strategy])}"]
            if act.kind == "switch"
            else []
        )
        return [*begin, *(f"kubectl delete {_pod(one)}" for one in ids), _ROLLED_OUT]

    def _updates(self, act: Act) -> list[str]:
        """Read and write queues of every broker that changes, as they are after the act."""
        resize = self.change.numbers.resizes[self.way.queues]
        is_first = next(one.kind for one in self.acts if one.kind in ("read", "write")) == act.kind
        # Of several masters of one name the first counts.
        masters = {
            one.broker_name: one.address
            for one in reversed(self.snapshot.brokers)
            if one.role == "MASTER"
        }
        commands = []
        for broker in resize.changed:
            write = (
                broker.read_queue_nums
                if broker.write_queue_nums is None
                else broker.write_queue_nums
            )
            read = broker.read_queue_nums if is_first and act.kind == "write" else resize.to
            write = write if is_first and act.kind == "read" else resize.to
            of = masters.get(broker.broker_name)
            address = '"${BROKER_ADDR:?}"' if of is None else shell_word(of)
            options = f"-t {shell_word(resize.topic)} -r {read} -w {write} -p {broker.perm}"
            commands.append(
                f"mqadmin updateTopic {_SERVERS} -b {address} {options}  # broker {_shown(broker.broker_name)}"
            )
        if act.kind == "write" and is_first:
            wait = f"# wait until Diff is 0 for queues {resize.to} and above, here and in all groups that read the topic"
            commands.append(
                f"mqadmin consumerProgress {_SERVERS} -g {shell_word(self.consumer_group)}  {wait}"
            )
        return commands

    def _foreseen(self) -> list[str]:
        """Return commands that show what the change does."""
        way, plan = self.way, []
        if way.n_clients != self.change.choices.n_now:
            plan += ["--scale", str(way.n_clients)]
        if way.strategy:
            plan += ["--to-strategy", shell_word(self.change.labels[way.strategy])]
        if resize := self.change.numbers.resizes.get(way.queues):
            plan += ["--set-queues", shell_word(f"{literal(resize.topic)}={way.queues}")]
        commands = [f"rmqalloc plan -f before.json {self._group} {' '.join(plan)}"] if plan else []
        if self.change.choices.restart:
            how = [
                "--batch",
                str(min(way.batch, self.change.choices.n_now)),
                *["--surge"] * way.surge,
            ]
            how += {"stable": ["--stable-ids"], "address": ["--new-addresses"]}.get(self.ids, [])
            how += ["--order", self.order] * (self.order in ("sorted", "reversed"))
            commands.append(
                f"rmqalloc rollout restart -f before.json {self._group} {' '.join(how)}"
            )
        return commands

    @property
    def _group(self) -> str:
        return f"-g {shell_word(literal(self.consumer_group))}"

    @property
    def _check(self) -> str:
        return f"rmqalloc check {_SERVERS} {self._group} --settle 20s --fail-on error"

    def _snapshot(self, file: str) -> str:
        return f"rmqalloc snapshot {_SERVERS} {self._group} --out {file}"

    def markdown(self) -> str:
        """Return the runbook as a page."""
        lines = [f"# Runbook: consumer group {code_span(self.consumer_group)}", "", _NEEDS, ""]
        if self.way.strategy:
            lines += [_WHILE_SWITCHING, ""]
        for number, entry in enumerate(self.entries(), start=1):
            lines += [
                f"## {number}. {entry.action[:1].upper()}{entry.action[1:]}",
                "",
                "```bash",
                *entry.commands,
                "```",
                "",
            ]
            lines += [f"Expected: {entry.expected}.", ""]
        return "\n".join(lines)


def shell_word(text: str) -> str:
    """Return a text as one word of a line of bash.

    Examples
    --------
    >>> print(shell_word("orders"), shell_word("a b; c"), shell_word("a\\n'b"))
    orders 'a b; c' $'a\\x0a\\'b'
    """
    if text.isprintable():
        return shlex.quote(text)
    parts = []
    for c in text:
        octets = c.encode("utf-8", "surrogatepass")
        parts.append(
            f"\\{c}"
            if c in "\\'"
            else c
            if c.isprintable()
            else "".join(f"\\x{octet:02x}" for octet in octets)
        )
    return f"$'{''.join(parts)}'"


def code_span(text: str) -> str:
    """Return a name as code in Markdown, whatever backticks it has.

    Examples
    --------
    >>> print(code_span("orders"), code_span("a`b"))
    `orders` `` a`b ``
    """
    shown = printable(text)
    ticks = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    blank = " " if len(ticks) > 1 else ""
    return f"{ticks}{blank}{shown}{blank}{ticks}"


def _shown(name: str) -> str:
    """Return a name as it may stand in a comment."""
    return shlex.quote(printable(name))


def _pod(client_id: str, more: str = "") -> str:
    """Return the pod of a client as a word of kubectl, what is to be done with it, and the client's
    id as a comment.
    """
    host = host_of(client_id)
    try:
        by_address = "%" not in host and bool(ip_address(host))  # a zone behind % may be any text
    except ValueError:
        by_address = False
    found = (
        f'"$(kubectl get pods -o name --field-selector status.podIP={host})"'
        if by_address
        else '"pod/${POD:?}"'
    )
    return f"{found}{' ' * bool(more)}{more}  # client {_shown(client_id)}"
