"""Units and scenarios of every kind, as hypothesis draws them."""

from hypothesis import strategies as st

ROOMS = ("hz", "sh")
CLIENTS = [f"c{i}" for i in range(9)] + [
    "what-if-000001",
    "what-if-000002",
    "zz",
    "é",
    "\uffff",
    "😀",
]
BROKERS = ["hz@a", "hz@b", "sh@a", "b*", "b[0]"]
STRATEGIES = [
    ("AVG", {}), ("AVG_BY_CIRCLE", {}), ("CONSISTENT_HASH", {}), ("CONSISTENT_HASH", {"virtual_nodes": 3}),
    ("MACHINE_ROOM", {"machine_rooms": ["hz"]}),
]  # fmt: skip
NEARBY = [
    ("MACHINE_ROOM_NEARBY-AVG", {}),
    ("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", {"virtual_nodes": 2}),
]

groups = st.sampled_from(["*", "g*", "g1", ["g2", "?1"], "nothing"])
topics = st.sampled_from(["*", "T*", "T1", ["t?", "T2"]])
counts = st.integers(1, 5)


def room_of(name):
    """Room of a client or a broker: the same wherever it occurs."""
    return ROOMS[sum(name.encode()) % 2]


@st.composite
def units(draw, form="brokers", rooms=False):
    """A good unit as a row."""
    row = {
        "consumer_group": draw(st.sampled_from(["g1", "g2", "other"])),
        "topic": draw(st.sampled_from(["T1", "T2", "t3", "%RETRY%g1"])),
        "client_ids": draw(
            st.lists(st.sampled_from(CLIENTS), min_size=1, max_size=7, unique=draw(st.booleans()))
        ),
    }
    brokers = draw(st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True))
    if form == "brokers":
        row["brokers"] = [
            {"broker_name": b, "read_queue_nums": draw(st.integers(0 if i else 1, 5))}
            for i, b in enumerate(brokers)
        ]
    else:
        numbers = [
            draw(st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)) for _ in brokers
        ]
        queues = [
            {"broker_name": b, "queue_id": i}
            for b, ids in zip(brokers, numbers, strict=True)
            for i in ids
        ]
        row["queues"] = draw(st.permutations(queues))
    if rooms:
        missing = draw(st.sampled_from([None, None, None, *row["client_ids"]]))
        row["client_rooms"] = [None if c == missing else room_of(c) for c in row["client_ids"]]
        row["broker_rooms"] = [room_of(entry["broker_name"]) for entry in row[form]]
    return row


def changes(rooms=False):
    """A change as plain data; in a table with rooms, those that come have one."""
    where = {"machine_room": st.sampled_from(ROOMS)} if rooms else {}
    texts = st.lists(st.sampled_from([*CLIENTS[:10], "new"]), min_size=1, max_size=3)
    names = st.sampled_from(["what-if-{n}", "c{n}", "~{n}"])
    kinds = [
        verb("remove_clients", ids=texts),
        verb("remove_clients", pattern=st.sampled_from(["c*", "c[0-3]", ["*2", "z?"], "what-if-*"])),
        verb("remove_clients", count=counts, which=st.sampled_from(["last", "first", "spread"])),
        verb("add_clients", count=counts, name=names, **where),
        verb("scale_clients", to=st.integers(0, 9), name=names, **where),
        verb("set_virtual_nodes", virtual_nodes=st.integers(0, 5)),
        verb("set_queues", read_queue_nums=st.integers(0, 4), brokers=st.sampled_from(["*", "hz@*", ["b[*]", "nope"]])),
        verb("set_queues", read_queue_nums=st.integers(0, 4), topics=st.sampled_from(["T?", "%RETRY%*", ["*", "%RETRY%g1"]])),
        verb("remove_broker", brokers=st.sampled_from(["hz@a", "*@a", "b[[]0]"])),
        verb("add_broker", broker_name=st.sampled_from(BROKERS), read_queue_nums=st.integers(1, 3)),
        st.sampled_from([*STRATEGIES, *(NEARBY if rooms else [])]).map(
            lambda rule: {"set_strategy": {"strategy": rule[0], "params": rule[1]}}
        ),
    ]  # fmt: skip
    if rooms:
        kinds += [
            verb("remove_clients", machine_room=st.sampled_from([*ROOMS, "nowhere"])),
            verb(
                "lose_machine_room",
                machine_room=st.sampled_from(ROOMS),
                what=st.sampled_from(["both", "clients", "brokers"]),
            ),
            verb("add_broker", broker_name=st.just("new@c"), read_queue_nums=counts, **where),
        ]
    else:
        kinds.append(verb("add_clients", ids=texts))
    return st.one_of(kinds)


def verb(called, /, **fields):
    """A change of that name with fields drawn."""
    return st.fixed_dictionaries(fields).map(lambda data: {called: data})


def scenarios(rooms=False):
    """Up to four scenarios as plain data."""
    one = st.fixed_dictionaries(
        {"changes": st.lists(changes(rooms), min_size=1, max_size=3)},
        optional={"groups": groups, "topics": topics},
    )
    return st.lists(one, max_size=4).map(
        lambda ones: [{"name": f"s{i}", **data} for i, data in enumerate(ones)]
    )
