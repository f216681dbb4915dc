"""Outputs of mqadmin in files, as one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from rmqalloc.documents import Source
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot._plain_data import SnapshotError
from rmqalloc.snapshot._snapshot import Snapshot, Topic
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.files.mqadmin import _outputs as outputs
from rmqalloc.snapshot.files.mqadmin._gathered import Gathered, group_of_retry_topic
from rmqalloc.snapshot.files.mqadmin._sections import Section, sections
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._answers import ClientConnection

_ALLOCATION = "allocateMQ"


def read(sources: Sequence[Source]) -> tuple[Snapshot, tuple[str, ...]]:
    """The snapshot of all outputs, and what should be known of it.

    Raises
    ------
    SnapshotError
        If a file holds no output that is read, one is cut, or its topic or group is not known.
    """
    gathered = _gathered(sources)
    snapshot = gathered.snapshot("mqadmin: " + ", ".join(source.name for source in sources))
    try:
        check_values(snapshot)
    except SnapshotError as error:
        raise SnapshotError(f"mqadmin text: {error}") from None
    return snapshot, tuple(gathered.warnings)


def group_lines(source: Source) -> dict[str, int]:
    """Lines of a file at which outputs begin that are the first to speak of each group."""
    return _gathered([source]).lines


def _gathered(sources: Sequence[Source]) -> Gathered:
    gathered = Gathered()
    for source in sources:
        found = list(sections(source))
        if not found:
            raise source.error(
                "holds no output of mqadmin that is read: topicRoute, consumerConnection, consumerProgress -g, "
                "consumerStatus and its files, allocateMQ"
            )
        for section in found:
            try:
                _TAKE[section.kind](section, gathered)
            except answers.AnswerError as error:
                raise section.error(str(error)) from None
            for name in gathered.groups.keys() - gathered.lines.keys():
                gathered.lines[name] = section.line
    return gathered


def _take_routes(section: Section, gathered: Gathered) -> None:
    _add_topic(outputs.routes(section, _topic(section)), section, gathered)


def _take_json(section: Section, gathered: Gathered) -> None:
    content = outputs.json_content(section)
    if isinstance(content, dict) and "result" in content:
        _take_allocation(outputs.allocation(section, content), section, gathered)
        return
    if not isinstance(content, dict) or "queueDatas" not in content:
        raise section.error("JSON of neither topicRoute (queueDatas) nor allocateMQ (result)")
    _add_topic(answers.route(_topic(section), content), section, gathered)
    gathered.brokers |= {one.broker_name: one for one in answers.route_brokers(content)}


def _take_allocation(owned: dict[str, list[MessageQueue]], section: Section, gathered: Gathered) -> None:
    gathered.groups[_ALLOCATION].owned = owned
    gathered.warnings.append(
        section.note(
            f"allocateMQ knows no group, so {_ALLOCATION} is taken for its name; it sorts neither queues nor clients, so its "
            "owners are not those that real clients would have"
        )
    )


def _add_topic(topic: Topic, section: Section, gathered: Gathered) -> None:
    if gathered.topics.setdefault(topic.name, topic) != topic:
        raise section.error(f"the route of topic {topic.name!r} is given twice and is not the same; give one of them")


def _take_progress(section: Section, gathered: Gathered) -> None:
    progress = outputs.progress(section)
    group = _group(section, {lag.queue.topic for lag in progress.lags})
    before = gathered.groups[group].progress
    if before is not None and not progress.owners:
        progress = progress._replace(owners=before.owners)
    gathered.groups[group].progress = progress


def _take_connections(section: Section, gathered: Gathered) -> None:
    connected = outputs.connections(section)
    group = _group(section, connected.subscriptions)
    before = gathered.groups[group].connected
    if before is not None and before.connections != connected.connections:
        gathered.warnings.append(
            section.note(f"consumerConnection of group {group!r} is given twice; the longer is kept")
        )
    if before is None or len(before.connections) < len(connected.connections):
        gathered.groups[group].connected = connected


def _take_clients(section: Section, gathered: Gathered) -> None:
    gathered.groups[_group(section, ())].listed = outputs.clients(section)


def _take_running_info(section: Section, gathered: Gathered) -> None:
    properties, info = outputs.running_info(section)
    group = properties.get("consumerGroup") or _group(section, info.subscriptions)
    client_id = _client_id(section, properties)
    release = outputs.version(properties.get("PROP_CLIENT_VERSION", "")) or None
    gathered.groups[group].infos[client_id] = info
    gathered.groups[group].answered[client_id] = ClientConnection(client_id, properties.get("language"), release)


def _pass_over(section: Section, gathered: Gathered) -> None:
    gathered.warnings.append(section.note("the list of all groups is passed over; give consumerProgress -g GROUP"))


_TAKE: dict[str, Callable[[Section, Gathered], None]] = {
    "routes": _take_routes,
    "json": _take_json,
    "progress": _take_progress,
    "connections": _take_connections,
    "clients": _take_clients,
    "running info": _take_running_info,
    "all groups": _pass_over,
}


def _topic(section: Section) -> str:
    if section.asked is None:
        raise section.error(
            "topicRoute does not print its topic; name the file topicRoute.TOPIC.txt, or leave the line with the command "
            "(mqadmin topicRoute -t TOPIC) above its output"
        )
    return section.asked


def _group(section: Section, topics: Iterable[str]) -> str:
    """The group of an output: as the command was asked, else that of its retry topic, else as the file is named."""
    group = section.asked if section.is_from_command_line else None
    group = group or group_of_retry_topic(topics) or section.asked
    if group is None:
        raise section.error(
            "this output does not print its group; name the file after it (consumerProgress.GROUP.txt), or leave the line "
            "with the command (mqadmin consumerProgress -g GROUP) above its output"
        )
    return group


def _client_id(section: Section, properties: dict[str, str]) -> str:
    """Client id as ``ClientConfig.buildMQClientId`` makes it; consumerStatus names its files so."""
    name = PurePath(section.source.path).name
    address, instance = properties.get("clientIP"), properties.get("instanceName")
    if address is None or instance is None:
        return name
    if name.startswith(f"{address}@"):
        return name
    unit = [properties["unitName"]] if properties.get("unitName") else []
    stream = ["STREAM"] if properties.get("enableStreamRequestType") == "true" else []
    return "@".join([address, instance, *unit, *stream])
