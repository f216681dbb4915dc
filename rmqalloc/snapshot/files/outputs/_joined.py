"""Outputs of mqadmin in files, as one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple

from rmqalloc.documents import DocumentError, Source
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.files.outputs import _console as console
from rmqalloc.snapshot.files.outputs import _mqadmin_tables as tables
from rmqalloc.snapshot.files.outputs import _offset_tables as offset_tables
from rmqalloc.snapshot.files.outputs._contradictions import NamedClients
from rmqalloc.snapshot.files.outputs._formats import OTHERS, command_of_cut_head, lacks_columns
from rmqalloc.snapshot.files.outputs._gathered import Gathered
from rmqalloc.snapshot.files.outputs._group_names import group_of_retry_topics, may_be_named
from rmqalloc.snapshot.files.outputs._mqadmin_tables import (
    ClientFile,
    Connected,
    ListedGroup,
    Progress,
)
from rmqalloc.snapshot.files.outputs._not_read import is_noise, not_read
from rmqalloc.snapshot.files.outputs._sections import (
    ABOVE,
    CUT,
    FAILED,
    LOG,
    NOTHING,
    PART_OF_LOG,
    PASSED,
    Section,
    sections,
)
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._answers import ClientConnection
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Snapshot, Topic
from rmqalloc.text import counted, printable, shortened

_ALLOCATION = "allocateMQ"
_NOT_READ = {form.command: form for form in OTHERS}


def read(sources: Sequence[Source]) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot of all outputs, and what should be known of it.

    Raises
    ------
    SnapshotError
        If no file holds an output that is read, one is cut, or its topic or group is not known; or
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


class LoggedMoment(NamedTuple):
    """What logs of clients show after a change; times in seconds of the Unix clock.

    Attributes
    ----------
    since, at : float
        The first and the last line of the change.
    snapshot : Snapshot
        The cluster from then on. What is not known of a group has one reason all the time.
    changing : mapping of str to float
        Groups that change meanwhile, since when; the snapshot has them as they were.
    """

    since: float
    at: float
    snapshot: Snapshot
    changing: Mapping[str, float]


def over_time(sources: Sequence[Source]) -> Iterator[LoggedMoment]:
    """Yield what logs of clients show, whenever a group has changed and then stayed for a second, and
    at their end; in the order of time.

    Parameters
    ----------
    sources : sequence of Source
        Logs of clients; outputs of topicRoute beside them count for all the time.

    Raises
    ------
    SnapshotError
        As `read`; or a file is neither a log nor topicRoute, or a log has no times.
    """
    from rmqalloc.snapshot.files.outputs._logged_groups import IN_PART
    from rmqalloc.snapshot.files.outputs._logged_moments import clients_over_time

    found = [section for source in sources for section in sections(source)]
    for section in found:
        if section.kind in _TAKE and section.kind not in ("routes", "json"):
            raise section.error(
                "a history is made of logs of clients; only topicRoute may be given beside them"
            )
    topics = read(sources)[0].topics
    logs = [section for section in map(_as_log, found) if section.kind == LOG]
    if not logs:
        raise found[0].error("a history is made of logs of clients, and this is none")
    gathered = Gathered({topic.name: topic for topic in topics})
    for settled in clients_over_time(logs):
        for name in settled.names:
            logged = settled.logs.group(name, settled.at)
            if logged and not answers.is_system_group(name):
                unknown = {kind: IN_PART[kind] for kind in logged.unknown}
                gathered.groups.pop(name, None)
                gathered.add_logged(name, logged._replace(unknown=unknown))
        if gathered.groups:
            gathered.counted_queues = settled.logs.queues()
            snapshot = gathered.snapshot("logs of clients")
            yield LoggedMoment(settled.since, settled.at, snapshot, settled.changing)


def first_outputs(sources: Sequence[Source]) -> dict[str, Section]:
    """Return the first output of each consumer group."""
    return _gathered(sources).first


def _gathered(sources: Sequence[Source]) -> Gathered:
    gathered = Gathered()
    found: list[Section] = []
    refused: list[DocumentError] = []
    by_file = [console.classified(list(sections(source))) for source in sources]
    if any(section.kind == LOG for section in chain.from_iterable(by_file)):
        by_file = [list(map(_as_log, of_file)) for of_file in by_file]
    for source, of_file in zip(sources, by_file, strict=True):
        found += of_file
        if not any(section.kind in _READ for section in of_file):
            refused.append(_why_nothing(source, of_file))
            if all(map(_is_silent, of_file)):
                gathered.warnings.append(str(refused[-1]))
    if len(refused) == len(sources):
        raise _nothing(sources, refused[0])
    # What leaves its group open comes last, when it is known which groups there are.
    for section in sorted(
        found, key=lambda section: section.kind in _OFFSETS and section.name is None
    ):
        if section.kind in _TAKE:
            _take(section, gathered)
        if section.kind in _READ:
            _leave_out(section.rest(), gathered)
        else:
            _leave_out(section, gathered)
    if logs := [section for section in found if section.kind == LOG]:
        _take_logs(logs, gathered)
    gathered.sources.sort(key=lambda read: (read.file, read.first_line))
    return gathered


def _take(section: Section, gathered: Gathered) -> None:
    """Add the facts of an output."""
    if lacks_columns(section.kind, section.lines[0]):
        raise section.error(
            f"the head of {_COMMAND_OF[section.kind]} lacks columns that every release prints: "
            f"{printable(shortened(' '.join(section.lines[0].split()), 200))}"
        )
    try:
        contents = _TAKE[section.kind](section, gathered)
    except AnswerError as error:
        raise section.error(str(error)) from None
    if len(gathered.groups) > len(gathered.first):
        for name in gathered.groups.keys() - gathered.first.keys():
            gathered.first[name] = section
    what = section.asked.command or _COMMAND_OF[section.kind]
    gathered.sources.append(section.as_source(what, contents))


def _as_log(section: Section) -> Section:
    """Return a part of a log as a log, as beside others."""
    return replace(section, kind=LOG) if section.kind == PART_OF_LOG else section


def _take_logs(logs: Sequence[Section], gathered: Gathered) -> None:
    """Add what clients log, of all logs together: one may go on with what another begins."""
    from rmqalloc.snapshot.files.outputs._logged_clients import clients_of

    found = clients_of(logs)
    for name, logged in found.groups():
        if answers.is_system_group(name):
            continue
        gathered.add_logged(name, logged)
        section = next(section for section in logs if section.source.name == logged.file)
        gathered.first.setdefault(name, replace(section, line=logged.line))
    gathered.counted_queues = found.queues()
    gathered.warnings += found.warnings
    for section in logs:
        n_results = found.n_results[section.source.name]
        gathered.sources.append(
            section.as_source("the log of a Java client", counted(n_results, "result"))
        )


def _leave_out(section: Section, gathered: Gathered) -> None:
    """Warn of lines that are not read, unless they are noise."""
    if section.kind == CUT:
        raise _cut(section)
    if not any(map(str.strip, section.lines)):
        return
    why = _refusal(section)
    gathered.sources.append(section.as_source(_REFUSED.get(section.kind, section.kind), "", why))
    if not _is_silent(section):
        gathered.warnings.append(section.note(why))


def _is_silent(section: Section) -> bool:
    """Return whether lines that are not read need no warning."""
    return section.kind == ABOVE or (section.kind == PASSED and all(map(is_noise, section.lines)))


def _nothing(sources: Sequence[Source], first: DocumentError) -> DocumentError:
    """Return an error that names the files in which there is no output that is read."""
    if len(sources) == 1:
        return first
    names = named([source.name for source in sources], 10)
    return SnapshotError(f"nothing can be read of {names}; {first}")


_OFFSETS = ("progress", console.PROGRESS)
"""Outputs whose retry topics may name their group."""
_REFUSED = {
    ABOVE: "a line above an output",
    FAILED: "an error",
    NOTHING: "a command without output",
    PASSED: "other lines",
}
_COMMAND_OF = {
    "routes": "topicRoute -l",
    console.ROUTE: "topicRoute",
    console.ALLOCATION: _ALLOCATION,
    console.CONNECTIONS: "consumerConnection",
    console.PROGRESS: "queryTopicByConsumer",
    console.PROGRESS_OF_GROUPS: "queryConsumerByTopic",
    console.GROUPS: "groupList",
    "broker offsets": "brokerConsumeStats",
    "client queues": "getConsumerStatus",
    console.RUNNING_INFO: "consumerRunningInfo",
    "progress": "consumerProgress -g",
    "connections": "consumerConnection",
    "clients": "consumerStatus",
    "running info": "consumerStatus -i",
    "all groups": "consumerProgress",
}


def _why_nothing(source: Source, found: Sequence[Section]) -> DocumentError:
    """Return why a file has no output that is read."""
    for section in found:
        if section.kind == CUT:
            return _cut(section)
        if section.kind not in (ABOVE, PASSED):
            return section.error(_refusal(section))
    if not source.data.strip():
        return source.error("is empty; the command that should have written it printed nothing", 1)
    return source.error(
        "holds no output of mqadmin that is read: topicRoute, consumerConnection, consumerProgress -g, "
        "consumerStatus and its files, allocateMQ, whose head must be there; nor a Java client's log of a rebalance",
        1,
    )


def _cut(section: Section) -> DocumentError:
    head = section.lines[0]
    return section.error(
        f"the output of {command_of_cut_head(head)} is cut or folded: its head ends at column {len(head.rstrip())}; "
        "write the output into a file, or make the terminal wider"
    )


def _refusal(section: Section) -> str:
    if section.kind == FAILED:
        return tables.failure(section)
    if section.kind == NOTHING:
        return tables.nothing(section)
    if section.kind in (console.ERROR, console.OTHER):
        return console.refusal(section)
    if section.kind == PART_OF_LOG:
        return not_read(section.source.text(), section.source.path)
    if section.kind == PASSED and all(map(is_noise, section.lines)):
        return "Java, its logging or a shell prints this around an output"
    if section.kind in (ABOVE, PASSED):
        return not_read("\n".join(section.lines), section.source.path)
    other = _NOT_READ[section.kind]
    return f"this is the output of {other.command}, which is not read; {other.instead}"


def _take_routes(section: Section, gathered: Gathered) -> str:
    gathered.broker_names |= tables.route_addresses(section)
    return _add_topic(tables.routes(section, _topic(section)), section, gathered)


def _take_route(section: Section, gathered: Gathered) -> str:
    content = section.content
    topic = answers.route(_topic(section), content)
    brokers = {broker.broker_name: broker for broker in answers.route_brokers(content)}
    with_queues = {broker.broker_name for broker in topic.brokers}
    if absent := sorted(brokers.keys() - with_queues):
        why = f"topicRoute ({section.place()}) has no queues of broker {_named(absent)}"
        topic = replace(topic, unknown={"routes": why})
    if brokers and (absent := sorted(with_queues - brokers.keys())):
        gathered.note(
            section,
            f"topicRoute of {printable(topic.name)} has no address of broker {_named(absent)}",
        )
    gathered.brokers |= brokers
    gathered.broker_names |= answers.broker_names(content)
    return _add_topic(topic, section, gathered)


def _named(names: Sequence[str]) -> str:
    return named(list(map(printable, names)))


def _take_allocation(section: Section, gathered: Gathered) -> str:
    owned = tables.allocation(section, section.content)
    gathered.groups[_ALLOCATION].owned = owned
    gathered.note(
        section,
        f"allocateMQ knows no group, so {_ALLOCATION} is taken for its name; it sorts neither queues nor clients, so its "
        "owners are not those that real clients would have",
    )
    return f"{counted(len(owned), 'client')}, {counted(sum(map(len, owned.values())), 'queue')}"


def _add_topic(topic: Topic, section: Section, gathered: Gathered) -> str:
    before = gathered.topics.setdefault(topic.name, topic)
    place = gathered.places.setdefault(topic.name, section.place())
    if before.brokers != topic.brokers:
        raise section.error(
            f"the route of topic {topic.name!r} is given twice and is not the same as at {place}; give one of them"
        )
    if why := topic.unknown.get("routes"):
        gathered.topics[topic.name] = topic
        gathered.warnings.append(
            f"{why}; the route of topic {printable(topic.name)} is known in part"
        )
    n_queues = sum(broker.read_queue_nums for broker in topic.brokers)
    brokers = counted(len(topic.brokers), "broker")
    return f"topic {printable(topic.name)}: {brokers}, {counted(n_queues, 'read queue')}"


def _take_progress(section: Section, gathered: Gathered) -> str:
    progress = tables.progress(section)
    topics = {lag.queue.topic for lag in progress.lags}
    group = _group(section, topics, gathered, progress.topic_width)
    return _add_progress(group, progress, gathered)


def _take_console_progress(section: Section, gathered: Gathered) -> str:
    progress = console.progress(section)
    topics = {lag.queue.topic for lag in progress.lags}
    group = _group(section, topics, gathered, progress.topic_width)
    if not progress.lags:
        why = f"queryTopicByConsumer ({section.place()}) shows no offsets"
        gathered.known_in_part(group, "lags", why)
    return _add_progress(group, progress, gathered)


def _take_progress_of_groups(section: Section, gathered: Gathered) -> str:
    found = console.progress_of_groups(section)
    contents = [_add_progress(group, progress, gathered) for group, progress in found.items()]
    for group in section.content:
        if group not in found:
            why = f"queryConsumerByTopic ({section.place()}) shows no offsets of the group"
            gathered.known_in_part(group, "lags", why)
    return named(contents)


def _add_progress(group: str, progress: Progress, gathered: Gathered) -> str:
    gathered.groups[group].progress.append(progress)
    if progress.section.asked.with_clients and not progress.shows_owners:
        why = f"consumerProgress ({progress.section.place()}) has no column of clients, which needs the flag -s true"
        gathered.known_in_part(group, "owners", why)
    if progress.wrong_total:
        gathered.warnings.append(
            f"{progress.wrong_total}; rows of group {printable(group)} are missing or changed"
        )
    owners = f", {counted(len(progress.owners), 'owner')}" if progress.shows_owners else ""
    return f"group {printable(group)}: {counted(len(progress.lags), 'offset')}{owners}"


def _take_broker_offsets(section: Section, gathered: Gathered) -> str:
    found = offset_tables.offsets_of_groups(section)
    found = {name: found[name] for name in found if not answers.is_system_group(name)}
    return named([_add_progress(group, progress, gathered) for group, progress in found.items()])


def _take_client_queues(section: Section, gathered: Gathered) -> str:
    found = offset_tables.client_queues(section)
    outputs = gathered.groups[found.group]
    outputs.mentions.append(NamedClients("getConsumerStatus", section.place(), found.client_ids))
    if found.shared:
        gathered.known_in_part(found.group, "owners", found.shared)
    if not found.client_ids:
        why = (
            f"getConsumerStatus ({section.place()}) shows no client with an offset of topic {printable(found.topic)}; "
            "clients that pop, or pull without a push consumer, have none there"
        )
        gathered.known_in_part(found.group, "owners", why)
    return _add_progress(found.group, found.progress, gathered)


def _take_connections(section: Section, gathered: Gathered) -> str:
    return _add_connections(tables.connections(section), section, gathered)


def _take_console_connections(section: Section, gathered: Gathered) -> str:
    return _add_connections(console.connections(section), section, gathered)


def _add_connections(connected: Connected, section: Section, gathered: Gathered) -> str:
    group = _group(section, connected.subscriptions, gathered)
    if connected.message_model is None:
        gathered.note(
            section,
            f"group {printable(group)}: its message model is printed as null; CLUSTERING is assumed",
        )
    gathered.add_connected(group, section, connected)
    clients = counted(len(connected.connections), "client")
    return f"group {printable(group)}: {clients}, {counted(len(connected.subscriptions), 'topic')}"


def _take_clients(section: Section, gathered: Gathered) -> str:
    group = _group(section, (), gathered)
    listed = tables.clients(section)
    if failed := tables.unanswered(section):
        who = counted(len(failed), "client")
        gathered.note(
            section,
            f"group {printable(group)}: {who} did not answer; consumerStatus has no row for such",
            failed[0],
        )
    gathered.add_listed(group, section, listed)
    return f"group {printable(group)}: {counted(len(listed.connections), 'client')}"


def _take_running_info(section: Section, gathered: Gathered) -> str:
    return _add_running_info(tables.running_info(section), section, gathered)


def _take_console_running_info(section: Section, gathered: Gathered) -> str:
    return _add_running_info(console.running_info(section), section, gathered)


def _add_running_info(file: ClientFile, section: Section, gathered: Gathered) -> str:
    properties, info, wrong = file
    group = properties.get("consumerGroup") or _group(section, info.subscriptions, gathered)
    client_id = section.asked.client or _client_id(section, properties)
    release = tables.version(properties.get("PROP_CLIENT_VERSION", "")) or None
    client = ClientConnection(client_id, properties.get("language"), release)
    gathered.add_info(group, section, info, client)
    gathered.groups[group].statements.add(
        "message model", f"running info ({section.place()})", properties.get("messageModel")
    )
    for kind, why in wrong.items():
        who = f"running info ({section.place()}) of client {printable(client_id)}"
        gathered.known_in_part(group, kind, f"{who}: {why}")
    owned = counted(len(info.owned or info.popped), "queue")
    return f"group {printable(group)}: client {printable(client_id)}, {owned}"


def _take_all_groups(section: Section, gathered: Gathered) -> str:
    found, others = tables.all_groups(section)
    if others:
        gathered.note(
            section,
            "this line is no row of consumerProgress; it is passed over, as all like it",
            others[0],
        )
    return _add_groups(found, section, gathered)


def _take_console_groups(section: Section, gathered: Gathered) -> str:
    return _add_groups(console.groups(section), section, gathered)


def _add_groups(listed: Sequence[ListedGroup], section: Section, gathered: Gathered) -> str:
    found = [row for row in listed if not answers.is_system_group(row.name)]
    for row in found:
        gathered.groups[row.name].counted = row
    if found:
        lags = named([f"{printable(row.name)} {row.lag}" for row in found])
        gathered.note(
            section,
            f"the list of all groups shows neither clients nor queues; its Diff Total ({lags}) has no place in a snapshot: "
            "give consumerConnection -g GROUP and consumerProgress -g GROUP",
        )
    return counted(len(found), "group")


_TAKE: dict[str, Callable[[Section, Gathered], str]] = {
    "routes": _take_routes,
    console.ROUTE: _take_route,
    console.ALLOCATION: _take_allocation,
    console.CONNECTIONS: _take_console_connections,
    console.PROGRESS: _take_console_progress,
    console.PROGRESS_OF_GROUPS: _take_progress_of_groups,
    console.GROUPS: _take_console_groups,
    "broker offsets": _take_broker_offsets,
    "client queues": _take_client_queues,
    console.RUNNING_INFO: _take_console_running_info,
    "progress": _take_progress,
    "connections": _take_connections,
    "clients": _take_clients,
    "running info": _take_running_info,
    "all groups": _take_all_groups,
}
_READ = {*_TAKE, LOG}


def _topic(section: Section) -> str:
    if section.n_alike > 1:
        raise section.error(
            f"{section.n_alike:,} outputs of topicRoute are joined here, and none prints its "
            "topic: put the line with the command (mqadmin topicRoute -t TOPIC) above each of "
            "them"
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
    if "@" in name and (address is None or name.startswith(f"{address}@")):
        return name
    if address is None or instance is None:
        raise section.error(
            "a client's file without clientIP or instanceName, so its client id is not known; give the file whole, "
            "or name it after the client (IP@INSTANCE), as consumerStatus does"
        )
    unit = [properties["unitName"]] if properties.get("unitName") else []
    stream = ["STREAM"] if properties.get("enableStreamRequestType") == "true" else []
    return "@".join([address, instance, *unit, *stream])
