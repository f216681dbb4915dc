"""Hypothesis strategies for the ids and queues of a consumer group, as people have them and as
nobody should.
"""

import reference
from hypothesis import strategies as st

from rmqalloc import MessageQueue

# Characters whose order, length or encoding differs between Java and Python; "-" and digits look
# like ring keys.
CHARACTERS = "a-0?@é中\uffff\ue000\ufffd\ud800\udbff\udc00\udfff\U00010000\U0001f600"
BROKERS = [
    "broker-a",
    "broker-b",
    "hz@b1",
    "hz@b2",
    "sh@b1",
    "hz@b@",
    "hz@",
    "@",
    "@b",
    "a@b@c",
    "",
    "😀@b",
    "\ue000@b",
    "nowhere",
]
TOPICS = ["T", "%RETRY%g", "t-😀", ""]
INT32 = st.integers(-(2**31), 2**31 - 1)

_number = st.integers(0, 3)
_host = st.builds("10.0.0.{}@{}".format, _number, _number)
_since_2021 = st.builds("{}#{}".format, _host, st.integers(10**14, 10**14 + 3))
odd_texts = st.text(st.sampled_from(CHARACTERS), max_size=3)
_blank = st.sampled_from([" ", "\t\x1c", "\u3000", "\u00a0", "\u2007"])
# Ring keys around the ends of the first two blocks of MD5.
_long = st.builds(
    "{}{}".format, st.sampled_from(["x" * 52, "é" * 27, "z" * 116]), st.text("@1", max_size=4)
)

client_ids = st.one_of(_host, _since_2021, odd_texts, odd_texts, _blank, _long)
client_lists = st.lists(client_ids, min_size=1, max_size=7)
# Halves of a surrogate pair and the pair itself are two strings to Python and one to Java.
distinct_client_lists = st.lists(
    client_ids.filter(bool), min_size=1, max_size=7, unique_by=reference.java_string
)


def queues(nulls=True):
    """Queues of a few topics and many kinds of broker; repeats are likely."""
    nothing = [None] if nulls else []
    return st.builds(
        MessageQueue,
        st.sampled_from(TOPICS + nothing),
        st.sampled_from(BROKERS + nothing),
        st.one_of(st.integers(-1, 4), st.integers(-1, 4), INT32),
    )


@st.composite
def units(draw):
    """Queues and client ids of a few units, which often share a list, as topics and groups do in a
    cluster.
    """
    queue_pool = draw(st.lists(queue_lists(min_size=0, nulls=False), min_size=1, max_size=3))
    client_pool = draw(st.lists(st.lists(client_ids, max_size=7), min_size=1, max_size=3))
    return draw(
        st.lists(st.tuples(st.sampled_from(queue_pool), st.sampled_from(client_pool)), max_size=6)
    )


def queue_lists(min_size=1, max_size=14, **kwargs):
    return st.lists(queues(**kwargs), min_size=min_size, max_size=max_size)
