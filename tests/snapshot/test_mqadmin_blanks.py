"""Names with blanks in outputs of mqadmin: what a twin of Java's format strings writes is read as
it was.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import MessageQueue
from rmqalloc.documents import Source
from rmqalloc.snapshot.files.outputs import _mqadmin_tables as tables
from rmqalloc.snapshot.files.outputs._sections import sections
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import TopicBroker


def units(text):
    return len(text.encode("utf-16-le")) // 2


def java(columns, *cells):
    """``String.format``: columns are pairs of width and what stands behind, as in "%-36s %-22s"."""
    padded = (
        str(cell) + " " * (width - units(str(cell))) + gap
        for cell, (width, gap) in zip(cells, columns, strict=True)
    )
    return "".join(padded) + "\n"


def front(text, most):
    """``UtilAll.frontStringAtLeast``."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def section_of(text):
    (found,) = sections(Source("g.txt", text.encode(), SnapshotError))
    return found


SHAPES = (
    "10.0.0.1:9",
    "JAVA",
    "V5_5_0",
    "7",
    "0",
    "",
    "  ",
    "c",
    "N/A",
    "{",
    "#x",
    "\u3000",
    "\U0001f600",
    "y" * 30,
)
words = st.sampled_from(SHAPES)
last_words = st.sampled_from(["7", "c@1", "JAVA", "\U0001f600"])
spaced = st.builds(
    lambda first, last: " ".join([*first, last]), st.lists(words, max_size=5), last_words
)
"""Names that end with no blank."""

languages, releases = (
    st.sampled_from(["JAVA", "GO", "NODE_JS"]),
    st.sampled_from(["V5_5_0", "V4_9_8"]),
)
numbers = st.integers(-1, 10**17)
topics = st.text("abcXYZ019_-%|", min_size=1, max_size=70)

CONNECTIONS = ((36, " "), (22, " "), (10, " "), (0, ""))
STATUS = ((10, " "), (40, " "), (20, " "), (0, ""))
ROUTES = ((45, " "), (32, " "), (50, " "), (10, " "), (11, " "), (5, ""))
PROGRESS = (
    (64, "  "),
    (32, "  "),
    (4, "  "),
    (20, "  "),
    (20, "  "),
    (20, " "),
    (20, " "),
    (20, " "),
    (0, ""),
)
OLD_PROGRESS = (
    (32, "  "),
    (32, "  "),
    (4, "  "),
    (20, "  "),
    (20, "  "),
    (20, " "),
    (20, "  "),
    (0, ""),
)
DETAIL = ((64, "  "), (32, "  "), (4, "  "), (0, ""))

quick = examples(30)


@quick
@given(st.lists(st.tuples(spaced, languages, releases), min_size=1, max_size=4))
def test_consumer_connection(rows):
    head = java(CONNECTIONS, "#ClientId", "#ClientAddr", "#Language", "#Version")
    body = "".join(java(CONNECTIONS, one, "127.0.0.1:55", language, v) for one, language, v in rows)
    topic = java(((20, "  "), (0, "")), "orders", "a > 1 AND b")
    end = f"\nBelow is subscription:\n#Topic               #SubExpression\n{topic}\nConsumeType: P\nMessageModel: CLUSTERING\n"
    found = tables.connections(section_of(head + body + end))
    assert [(one.client_id, one.language) for one in found.connections] == [row[:2] for row in rows]
    assert (found.subscriptions, found.message_model) == (["orders"], "CLUSTERING")


@quick
@given(st.lists(st.tuples(spaced, releases), min_size=1, max_size=4))
def test_consumer_status(rows):
    head = java(STATUS, "#Index", "#ClientId", "#Version", "#ConsumerRunningInfoFile")
    body = "".join(
        java(STATUS, i, one, v, f"1795247995935/{one}") for i, (one, v) in enumerate(rows, 1)
    )
    found = tables.clients(
        section_of(head + body + "\n\nSame subscription in the same group of consumer\n")
    )
    assert [(client.client_id, client.version) for client in found.connections] == [
        (client_id, tables.version(release)) for client_id, release in rows
    ]


@quick
@given(
    st.booleans(),
    st.lists(
        st.tuples(
            topics, spaced, st.integers(-1, 9999), numbers, numbers, spaced, st.sampled_from(["N/A", "2026-11-21 07:58:38"])
        ),
        min_size=1,
        max_size=3,
    ),
)  # fmt: skip
def test_consumer_progress(is_old, rows):
    columns, width = (OLD_PROGRESS, 32) if is_old else (PROGRESS, 64)
    inflight = [] if is_old else ["#Inflight"]
    text = java(
        columns, "#Topic", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset", "#Client IP", "#Diff",
        *inflight, "#LastTime",
    )  # fmt: skip
    expected = {}
    for topic, broker, number, end, at, ip, when in rows:
        names = front(topic, width), front(broker, 32)
        text += java(
            columns, *names, number, end, at, ip, end - at, *([7] if inflight else []), when
        )
        expected[MessageQueue(names[0], names[1].rstrip(" "), number)] = ip.lstrip(" ")
    found = tables.progress(section_of(text + "\nConsume TPS: 0.00\n"))
    assert [(lag.broker_offset, lag.consumer_offset) for lag in found.lags] == [
        row[3:5] for row in rows
    ]
    assert {lag.queue for lag in found.lags} == set(expected)
    assert found.owners == {
        queue: ip for queue, ip in expected.items() if ip not in tables.NOT_KNOWN
    }


@quick
@given(
    st.lists(
        st.tuples(spaced.filter(lambda name: units(name) <= 45), spaced), min_size=1, max_size=3
    )
)
def test_topic_route(rows):
    text = java(
        ROUTES, "#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm"
    )
    for cluster, broker in rows:
        text += java(ROUTES, cluster, broker, "{0=127.0.0.1:55417, 1=10.0.0.1:1}", 4, 4, 6)
    found = tables.routes(section_of(text + "-" * 90 + "\n"), "t")
    names = sorted(broker for _, broker in rows)
    assert found.brokers == tuple(TopicBroker(broker, 4, 4, 6) for broker in names)


@quick
@given(st.lists(st.tuples(topics, spaced, st.integers(-1, 9999)), min_size=1, max_size=3))
def test_queues_of_a_client(rows):
    text = "#Consumer Properties#\n#Consumer MQ Detail#\n" + java(
        DETAIL, "#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo"
    )
    for topic, broker, number in rows:
        text += java(
            DETAIL,
            topic,
            broker,
            number,
            "ProcessQueueInfo [commitOffset=5, droped=false, 1 ProcessQueue]",
        )
    info = tables.running_info(section_of(text + "\n\n#Consumer RT&TPS#\n")).info
    assert set(info.owned) == {
        MessageQueue(topic, broker.lstrip(" "), number) for topic, broker, number in rows
    }


def test_a_cluster_whose_name_sticks_out_of_its_column():
    text = java(
        ROUTES, "#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm"
    )
    text += java(ROUTES, "c" * 60, "broker-a", "{0=127.0.0.1:55417}", 2, 2, 6) + "----\n"
    assert tables.routes(section_of(text), "t").brokers[0].broker_name == "broker-a"


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        pytest.param(
            tables.connections,
            "#ClientId #ClientAddr \nsome words that are none\n",
            "2: not a row of consumerConnection",
            id="connections",
        ),
        pytest.param(
            tables.clients,
            "#Index #ClientId \n1 a b  V5 7/x\n",
            "2: not a row of consumerStatus: number, client id",
            id="clients",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_not_passed_over(kind, text, said):
    with pytest.raises(SnapshotError, match=said):
        kind(section_of(text))
