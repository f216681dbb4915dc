"""How operators see a Python member beside a Java member: mqadmin of the same release, and
``check``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from live_cluster import LiveCluster, mqadmin
from live_proofs import wait_for

import rmqalloc
from clusters.beside_java.owners import retry_difference, settled
from clusters.beside_java.page import Section
from clusters.beside_java.play import JAVA_KEPT, PYTHON_KEPT, SETTLES_WITHIN
from clusters.beside_java.stage import Group, Stage
from clusters.incidents.stage import run_cli
from rmqalloc import MessageQueue

JAVA_NAME, PYTHON_NAME = "hz-java-0", "hz-python-1"
HEAD = """| asked | of the Java member | of the Python member | as expected |
| --- | --- | --- | --- |"""


class Line(NamedTuple):
    """One thing that can be seen."""

    asked: str
    java: str
    python: str
    is_right: bool


class Info(NamedTuple):
    """What ``consumerStatus -i`` prints of a member: lines by section, and queues in two of the
    sections.
    """

    sections: dict[str, list[str]]

    def queues(self, section: str) -> set[MessageQueue]:
        """Queues of a section."""
        words = [
            line.split() for line in self.sections.get(section, ()) if not line.startswith("#")
        ]
        return {MessageQueue(topic, broker, int(place)) for topic, broker, place, *_ in words}

    @property
    def subscriptions(self) -> list[str]:
        """Subscriptions without their numbers."""
        return sorted(
            " ".join(line.split()[1:]) for line in self.sections.get("Consumer Subscription", ())
        )

    @property
    def properties(self) -> dict[str, str]:
        """Properties by name."""
        parts = (line.partition(":") for line in self.sections.get("Consumer Properties", ()))
        return {name.strip(): value.strip() for name, _, value in parts}

    def of_topics(self, section: str) -> set[str]:
        """Topics that begin the lines of a section."""
        return {
            line.split()[0] for line in self.sections.get(section, ()) if not line.startswith("#")
        }


def info_of(text: str) -> Info:
    """Read what ``consumerStatus -i`` prints.

    Examples
    --------
    >>> info_of("#Consumer Offset#\\n#Topic #Broker Name\\nT a 0 17\\n").queues("Consumer Offset")
    {MessageQueue(topic='T', broker_name='a', queue_id=0)}
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if heading := re.fullmatch(r"#([^#]+)#", line.strip()):
            lines = found.setdefault(heading[1], [])
        elif line.strip():
            lines.append(line)
    return Info(found)


def seen(title: str, servers: str | None, clients: str | None) -> Section:
    """Compare what is seen of the two members of a group."""
    group = Group("seen", "AVG")
    with (
        LiveCluster(options=(), version=servers) as cluster,
        Stage(cluster, (group,), "seen", 3, clients, is_quick=True) as stage,
    ):
        stage.start(JAVA_KEPT)
        stage.start(PYTHON_KEPT)
        began = stage.join(JAVA_KEPT, JAVA_NAME) | stage.join(PYTHON_KEPT, PYTHON_NAME)
        [one] = settled(stage, began, SETTLES_WITHIN)
        if one.wrong:
            return Section(f"## {title}\n\n{one.wrong}\n", [], [one.wrong])
        wait_for(lambda: not retry_difference(stage, group), "the retry topic is divided")
        lines = [
            line
            for look in (_connections, _status, _infos, _check)
            for line in look(cluster, stage)
        ]
    rows = [
        f"| {one.asked} | {one.java} | {one.python} | {'yes' if one.is_right else '**no**'} |"
        for one in lines
    ]
    wrong = [f"{title}: {one.asked}: {one.java}, {one.python}" for one in lines if not one.is_right]
    return Section("\n".join([f"## {title}", "", HEAD, *rows, ""]), [], wrong)


def _ids(stage: Stage) -> tuple[str, str]:
    [group] = stage.groups
    return stage.members[JAVA_NAME].client_ids[group.name], stage.members[PYTHON_NAME].client_ids[
        group.name
    ]


def _asked(cluster: LiveCluster, *arguments: str) -> str:
    return mqadmin(cluster, *arguments, "-g", "seen", "-n", cluster.name_server)


def _connections(cluster: LiveCluster, stage: Stage) -> list[Line]:
    text = _asked(cluster, "consumerConnection")
    rows = {
        line.split()[0]: line.split()[1:] for line in text.splitlines() if "@" in line.split(" ")[0]
    }
    java, python = (rows.get(one, [""] * 3) for one in _ids(stage))
    is_right = [one[1] for one in (java, python)] == ["JAVA", "PYTHON"] and java[2][0] == python[2][
        0
    ] == "V"
    found = [
        Line(
            "`consumerConnection`: language, version",
            " ".join(java[1:]),
            " ".join(python[1:]),
            is_right,
        )
    ]
    found.append(Line("clients listed", *(str(len(rows)),) * 2, set(rows) == set(_ids(stage))))
    return found


def _status(cluster: LiveCluster, stage: Stage) -> list[Line]:
    text = _asked(cluster, "consumerStatus")
    rows = {
        line.split()[1]: line.split()[2] for line in text.splitlines() if re.match(r"\d+ .*@", line)
    }
    java, python = (rows.get(one, "not there") for one in _ids(stage))
    found = [Line("`consumerStatus`: version", java, python, java[0] == python[0] == "V")]
    for said in ("Same subscription in the same group of consumer", "Rebalance OK"):
        found.append(
            Line("says of both", *((said if said in text else "not said"),) * 2, said in text)
        )
    return found


def _infos(cluster: LiveCluster, stage: Stage) -> list[Line]:
    """What ``consumerStatus -i`` has of each member, beside the member's own table."""
    infos = [info_of(_asked(cluster, "consumerStatus", "-i", one)) for one in _ids(stage)]
    java, python = infos
    left_out = [one for one in java.sections if one not in python.sections]
    sections = str(len(java.sections)), _but(len(python.sections), left_out)
    found = [Line("`consumerStatus -i`: sections", *sections, not left_out)]
    texts = (", ".join(one.subscriptions) for one in infos)
    found.append(Line("subscriptions", *texts, java.subscriptions == python.subscriptions))
    [held] = stage.held().values()
    for section in ("Consumer Offset", "Consumer MQ Detail"):
        equal = [
            one.queues(section) == held[id_] for one, id_ in zip(infos, _ids(stage), strict=True)
        ]
        texts = (f"{len(one.queues(section))} queues" for one in infos)
        found.append(Line(f"{section}: the queues of the member's own table", *texts, all(equal)))
    topics = [str(len(one.of_topics("Consumer RT&TPS"))) for one in infos]
    is_right = topics[1] in ("0", topics[0])
    found.append(
        Line("Consumer RT&TPS: topics (the Python member keeps no statistics)", *topics, is_right)
    )
    return [*found, *_properties(java.properties, python.properties)]


def _properties(java: dict[str, str], python: dict[str, str]) -> list[Line]:
    """Properties that tools read; the others are settings of Java's classes."""
    own = [one for one in java if one.startswith("PROP_")]
    names = sorted(one for one in own if one not in python)
    found = [
        Line(
            "properties that tools read (`PROP_...`)",
            str(len(own)),
            _but(len(own) - len(names), names),
            not names,
        )
    ]
    differ = [
        f"{name}={python[name]}"
        for name in sorted(java.keys() & python.keys())
        if name.startswith("PROP_CONSUME")
        and "TIMESTAMP" not in name
        and java[name] != python[name]
    ]
    return [
        *found,
        Line("PROP_CONSUME...: values", "as set", ", ".join(differ) or "the same", not differ),
    ]


def _but(n: int, names: list[str]) -> str:
    return f"{n}, without {', '.join(names)}" if names else str(n)


def _check(cluster: LiveCluster, stage: Stage) -> list[Line]:
    """What ``check`` and a snapshot have of the members."""
    code, out, _ = run_cli("check", "-n", cluster.name_server, "-g", "seen")
    snapshot = rmqalloc.fetch(cluster.name_server, ("seen",), lag=False)
    [group], [held] = snapshot.groups, stage.held().values()
    owned = {one.client_id: frozenset(one.owned or ()) for one in group.clients}
    java, python = _ids(stage)
    texts = [f"{len(owned.get(one, ()))} queues" for one in (java, python)]
    said = re.findall(r"^  (?:note|warning|error) +(\S+):", out, re.MULTILINE) or ["nothing"]
    by_id = {one.client_id: str(one.strategy) for one in group.clients}
    strategies = [by_id.get(one, "not there") for one in (java, python)]
    return [
        Line(
            "`check`: exit code, and what it finds", *(f"{code}: {' '.join(said)}",) * 2, code == 0
        ),
        Line("a snapshot: queues as in the member's own table", *texts, owned == held),
        Line("a snapshot: strategy", *strategies, strategies[0] == strategies[1]),
    ]
