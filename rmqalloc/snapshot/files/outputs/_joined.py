"""Outputs of mqadmin in files, as one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from rmqalloc.documents import Source
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.files.outputs import _mqadmin_tables as tables
from rmqalloc.snapshot.files.outputs._formats import OTHERS, dashboard, is_dashboard
from rmqalloc.snapshot.files.outputs._gathered import Gathered
from rmqalloc.snapshot.files.outputs._group_names import group_of_retry_topics, may_be_named
from rmqalloc.snapshot.files.outputs._sections import FAILED, Section, sections
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._answers import ClientConnection
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Snapshot, Topic
from rmqalloc.text import counted, printable

_ALLOCATION = "allocateMQ"
_NOT_READ = {one.command: one for one in OTHERS}


def read(sources: Sequence[Source]) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot of all outputs, and what should be known of it.

    Raises
    ------
    SnapshotError
        If a file holds no output that is read, one is cut, or its topic or group is not known; or
        if all of them name neither a topic nor a group.
    """
    gathered = _gathered(sources)
    names = ", ".join(source.name for source in sources)
    snapshot = gathered.snapshot(f"mqadmin: {names}")
    if not snapshot.topics and not snapshot.groups:
        raise SnapshotError(f"{names}: mqadmin shows neither a topic nor a group there")
    try:
        check_values(snapshot)
    except SnapshotError as error:
        raise SnapshotError(f"mqadmin text: {error}") from None
    return snapshot, tuple(gathered.warnings)


def group_lines(source: Source) -> dict[str, int]:
    """Return lines of a file at which outputs begin that are the first to speak of each group."""
    return _gathered([source]).lines


def _gathered(sources: Sequence[Source]) -> Gathered:
    gathered = Gathered()
    found = [section for source in sources for section in _read_sections(source, gathered)]
    # What leaves its group open comes last, when it is known which groups there are.
    for section in sorted(found, key=lambda one: one.kind == "progress" and one.name is None):
        try:
            _TAKE[section.kind](section, gathered)
        except AnswerError as error:
            raise section.error(str(error)) from None
        for name in gathered.groups.keys() - gathered.lines.keys():
            gathered.lines[name] = section.line
    return gathered


def _read_sections(source: Source, gathered: Gathered) -> list[Section]:
    """Return outputs of a file that are read; others are warned of, and are errors in a file that
    has nothing else.
    """
    text = source.text()
    if is_dashboard(text):
        raise source.error(dashboard(text), 1)
    found = list(sections(source))
    if not found:
        raise source.error(
            "holds no output of mqadmin that is read: topicRoute, consumerConnection, consumerProgress -g, "
            "consumerStatus and its files, allocateMQ; the head of a table must be there",
            1,
        )
    refused = [one for one in found if one.kind not in _TAKE]
    if len(refused) == len(found):
        raise refused[0].error(_refusal(refused[0]))
    gathered.warnings += [one.note(_refusal(one)) for one in refused]
    return [one for one in found if one.kind in _TAKE]


def _refusal(section: Section) -> str:
    if section.kind == FAILED:
        return tables.failure(section)
    other = _NOT_READ[section.kind]
    return f"this is the output of {other.command}, which is not read; {other.instead}"


def _take_routes(section: Section, gathered: Gathered) -> None:
    _add_topic(tables.routes(section, _topic(section)), section, gathered)
    gathered.broker_names |= tables.route_addresses(section)


def _take_json(section: Section, gathered: Gathered) -> None:
    content = tables.json_content(section)
    if isinstance(content, dict) and "result" in content:
        _take_allocation(tables.allocation(section, content), section, gathered)
        return
    if not isinstance(content, dict) or "queueDatas" not in content:
        raise section.error("JSON of neither topicRoute (queueDatas) nor allocateMQ (result)")
    _add_topic(answers.route(_topic(section), content), section, gathered)
    gathered.brokers |= {one.broker_name: one for one in answers.route_brokers(content)}
    gathered.broker_names |= answers.broker_names(content)


def _take_allocation(
    owned: dict[str, list[MessageQueue]], section: Section, gathered: Gathered
) -> None:
    gathered.groups[_ALLOCATION].owned = owned
    gathered.note(
        section,
        f"allocateMQ knows no group, so {_ALLOCATION} is taken for its name; it sorts neither queues nor clients, so its "
        "owners are not those that real clients would have",
    )


def _add_topic(topic: Topic, section: Section, gathered: Gathered) -> None:
    if gathered.topics.setdefault(topic.name, topic) != topic:
        raise section.error(
            f"the route of topic {topic.name!r} is given twice and is not the same; give one of them"
        )


def _take_progress(section: Section, gathered: Gathered) -> None:
    progress = tables.progress(section)
    topics = {lag.queue.topic for lag in progress.lags}
    group = _group(section, topics, gathered, progress.topic_width)
    gathered.groups[group].progress.append(progress)


def _take_connections(section: Section, gathered: Gathered) -> None:
    connected = tables.connections(section)
    group = _group(section, connected.subscriptions, gathered)
    if connected.message_model is None:
        gathered.note(
            section,
            f"group {printable(group)}: its message model is printed as null; CLUSTERING is assumed",
        )
    gathered.add_connected(group, section, connected)


def _take_clients(section: Section, gathered: Gathered) -> None:
    group = _group(section, (), gathered)
    if failed := tables.unanswered(section):
        who = counted(len(failed), "client")
        gathered.groups[
            group
        ].in_part = f"{who} did not answer consumerStatus, which does not name them"
        gathered.note(
            section,
            f"group {printable(group)}: {who} did not answer; consumerStatus has no row for such",
            failed[0],
        )
    gathered.add_listed(group, section, tables.clients(section))


def _take_running_info(section: Section, gathered: Gathered) -> None:
    properties, info = tables.running_info(section)
    group = properties.get("consumerGroup") or _group(section, info.subscriptions, gathered)
    client_id = _client_id(section, properties)
    release = tables.version(properties.get("PROP_CLIENT_VERSION", "")) or None
    gathered.groups[group].infos[client_id] = info
    gathered.groups[group].answered[client_id] = ClientConnection(
        client_id, properties.get("language"), release
    )


def _take_all_groups(section: Section, gathered: Gathered) -> None:
    found, others = tables.all_groups(section)
    found = [one for one in found if not answers.is_system_group(one.name)]
    if others:
        gathered.note(
            section,
            "this line is no row of consumerProgress; it is passed over, as all like it",
            others[0],
        )
    for one in found:
        gathered.groups[one.name].counted = one
    if found:
        lags = named([f"{printable(one.name)} {one.lag}" for one in found])
        gathered.note(
            section,
            f"the list of all groups shows neither clients nor queues; its Diff Total ({lags}) has no place in a snapshot: "
            "give consumerConnection -g GROUP and consumerProgress -g GROUP",
        )


_TAKE: dict[str, Callable[[Section, Gathered], None]] = {
    "routes": _take_routes,
    "json": _take_json,
    "progress": _take_progress,
    "connections": _take_connections,
    "clients": _take_clients,
    "running info": _take_running_info,
    "all groups": _take_all_groups,
}


def _topic(section: Section) -> str:
    if section.n_alike > 1:
        raise section.error(
            f"{section.n_alike:,} outputs of topicRoute stand here, none of which prints its topic: the line with the command "
            "(mqadmin topicRoute -t TOPIC) must stand above each of them"
        )
    if section.name is None:
        raise section.error(
            "topicRoute does not print its topic; name the file topicRoute.TOPIC.txt, or leave the line with the command "
            "(mqadmin topicRoute -t TOPIC) above its output"
        )
    return section.name


def _group(
    section: Section, topics: Iterable[str], gathered: Gathered, width: int | None = None
) -> str:
    """Return the group of an output: as the command was asked or the file is named, else that of
    its retry topics.

    One name does not stand for several outputs, unless nothing else tells their groups.
    """
    found, topics = None, frozenset(topics)
    if section.name is None or section.n_alike > 1:
        found = group_of_retry_topics(topics, gathered.groups.keys(), width)
    if (group := found or section.name) is None:
        raise section.error(
            "this output does not print its group; name the file after it (consumerProgress.GROUP.txt), or leave the line "
            "with the command (mqadmin consumerProgress -g GROUP) above its output"
        )
    if not may_be_named(group, topics, width):
        gathered.note(
            section,
            f"taken for an output of group {printable(group)}, as it is named; its retry topics are others'",
        )
    return group


def _client_id(section: Section, properties: dict[str, str]) -> str:
    """Return the client id as ``ClientConfig.buildMQClientId`` makes it; consumerStatus names its
    files so.
    """
    name = PurePath(section.source.path).name
    address, instance = properties.get("clientIP"), properties.get("instanceName")
    if address is None or instance is None:
        return name
    if name.startswith(f"{address}@"):
        return name
    unit = [properties["unitName"]] if properties.get("unitName") else []
    stream = ["STREAM"] if properties.get("enableStreamRequestType") == "true" else []
    return "@".join([address, instance, *unit, *stream])
