"""How the strategies of groups are known, and what the verbs make of a doubt."""

import json
from dataclasses import replace

import pytest
from checkout import DATA
from hypothesis import given
from hypothesis import strategies as st

import rmqalloc
from rmqalloc.audit import check_snapshot
from rmqalloc.cli import _app as app
from rmqalloc.evidence import (
    Outcome,
    UnansweredError,
    Verb,
    evidence_lines,
    evidence_of,
    with_strategies,
)
from rmqalloc.evidence import known as decided_of
from rmqalloc.evidence.client_method import method_of
from rmqalloc.evidence.inferred_strategies import OwnedQueues, fits_of
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.evidence.notes import notes_on
from rmqalloc.model import MessageQueue
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.files import read_snapshot, write_snapshot
from rmqalloc.snapshot.plain_data import from_document, to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies import strategy
from rmqalloc.strategies.by_name import rule

OLD = DATA / "snapshots-0.1.0"
TOPIC = Topic("T", (TopicBroker("a", 16), TopicBroker("b", 16)))
IDS = ("c1", "c2", "c3", "c4", "c5")
LOSE_ONE = [{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}]


def cluster(*clients, topic=TOPIC, **fields):
    return Snapshot((topic,), (Group("g", (topic.name,), clients, **fields),))


def owning(name, *ids, topic=TOPIC, **params):
    """Clients that own what a strategy gives them."""
    queues = sorted(topic.queues())
    shares = {one: tuple(rule(name, **params).allocate("g", one, queues, list(ids))) for one in ids}
    return tuple(Client(one, owned=share) for one, share in shares.items())


def known(snapshot, **how):
    """The one group of a snapshot, with its strategy."""
    [group] = with_strategies(snapshot, **how).groups
    return group


def summary(group):
    nodes = group.strategy_params.get("virtual_nodes")
    return (
        group.strategy,
        nodes,
        group.strategy_source,
        group.strategy_explains,
        group.strategy_doubt is not None,
    )


# --- What is said ---


def test_what_is_written_down_counts():
    stated = known(cluster(Client("c1"), strategy="AVG_BY_CIRCLE"))
    assert summary(stated) == ("AVG_BY_CIRCLE", None, "given", None, False)


def test_what_all_clients_report_counts_where_nothing_is_written_down():
    three = [Client(one, strategy="AVG_BY_CIRCLE") for one in IDS[:3]]
    assert summary(known(cluster(*three))) == ("AVG_BY_CIRCLE", None, "reported", None, False)


def test_what_all_clients_report_refutes_what_is_written_down():
    three = [Client(client_id, strategy="AVG_BY_CIRCLE") for client_id in IDS[:3]]
    written = cluster(*three, strategy="CONSISTENT_HASH", strategy_params={"virtual_nodes": 160})
    found = known(written)
    assert summary(found) == ("AVG_BY_CIRCLE", None, "reported", None, False)
    assert found.strategy_params == {}
    stated = decided_of(written)
    assert list(notes_on(stated, evidence_of(stated.snapshot))) == [
        "strategy AVG_BY_CIRCLE, reported, owners not known: g",
        "the clients of g report AVG_BY_CIRCLE, which is used; the snapshot states CONSISTENT_HASH",
    ]
    owners = owning("CONSISTENT_HASH", *IDS, virtual_nodes=160)
    contradicted = [replace(client, strategy="AVG_BY_CIRCLE") for client in owners]
    assert known(cluster(*contradicted, strategy="AVG")).strategy_doubt is not None


BOTH = [Client("c1", language="GO"), Client("c2", language="JAVA")]


@pytest.mark.parametrize(
    ("clients", "fields", "doubt"),
    [
        ([Client("c1")], {}, "nothing shows which strategy"),
        ([Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE")], {}, "1 client reports AVG, 1 client"),
        ([Client("c1", strategy="AVG"), Client("c2")], {}, "only 1 of 2 clients reports a strategy"),
        ([Client("c1", strategy="CONSISTENT_HASH")], {}, "do not report their virtual nodes"),
        ([Client("c1", strategy="MACHINE_ROOM_NEARBY")], {}, "inside MACHINE_ROOM_NEARBY is not known"),
        ([Client("c1", strategy="AVG_BY_CIRCLE"), Client("c2")], {"strategy": "AVG"}, "states AVG, 1 client reports"),
        ([Client("c1", strategy="AVG_BY_CIRCLE")], {"strategy": "AVG", "server_assignment": "PULL"}, "states AVG, 1 client"),
        ([Client("c1", virtual_nodes=160)], {"strategy": "CONSISTENT_HASH"}, "with 10 virtual nodes, 1 client 160"),
        ([Client("c1", virtual_nodes=1), Client("c2", virtual_nodes=2)], {"strategy": "CONSISTENT_HASH"}, "1 client 1, 1"),
        (BOTH, {"strategy": "CONSISTENT_HASH"}, "ring differs from Java's"),
        (BOTH, {"strategy": "MACHINE_ROOM_NEARBY-AVG"}, "Go's AllocateByMachineNearby computes AVG"),
        ([Client("c1"), Client("c2", language="CPP")], {"strategy": "AVG_BY_CIRCLE"}, "the C++ client has no AVG_BY_CIRCLE"),
        ([Client("c1", language="CPP")], {"strategy": "AVG_BY_CIRCLE"}, "it has only AVG"),
        ([Client("c1", language="GO")], {"strategy": "POP"}, "client-go has no POP"),
    ],
)  # fmt: skip
def test_a_guess_and_a_disagreement_are_a_doubt(clients, fields, doubt):
    assert doubt in known(cluster(*clients, **fields)).strategy_doubt


@pytest.mark.parametrize(
    ("language", "stated", "strategy", "params"),
    [
        ("GO", "CONSISTENT_HASH", "CONSISTENT_HASH", {"virtual_nodes": 20, "dialect": "go"}),
        ("GO", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH", "AVG", {}),
        ("GO", "AVG_BY_CIRCLE", "AVG_BY_CIRCLE", {}),
        ("CPP", "CONSISTENT_HASH", "AVG", {}),
        ("PYTHON", "AVG", "AVG", {}),
        ("RUST", "CONSISTENT_HASH", "CONSISTENT_HASH", {"virtual_nodes": 20}),
        (None, "CONSISTENT_HASH", "CONSISTENT_HASH", {"virtual_nodes": 20}),
    ],
)
def test_a_group_of_one_language_divides_as_that_computes_the_strategy(
    language, stated, strategy, params
):
    given = {"virtual_nodes": 20} if "HASH" in stated else {}
    two = [Client(one, language=language) for one in IDS[:2]]
    one = known(cluster(*two, strategy=stated, strategy_params=given))
    assert (one.strategy, dict(one.strategy_params)) == (strategy, params)
    assert (one.strategy_doubt is None) == (language != "CPP")


def test_lists_of_config_that_are_not_there_are_the_problem_of_a_client():
    method = method_of(Group("g", strategy="CONFIG"), Client("c"))
    assert method.problem == "the lists of CONFIG are not in the snapshot"


@pytest.mark.parametrize(
    ("name", "params"), [("CONSISTENT_HASH", {"virtual_nodes": 160}), ("AVG", {})]
)
def test_what_clients_of_go_own_is_held_against_what_go_computes(name, params):
    topic = Topic("T", (TopicBroker("a", 24), TopicBroker("b", 24)))
    made = strategy(name, dialect="go", **params).assign(tuple(topic.queues()), IDS, sort=True)
    own = [Client(one, language="GO", owned=tuple(made.queues_of(one))) for one in IDS]
    [found] = with_strategies(Snapshot((topic,), (Group("g", ("T",), tuple(own)),))).groups
    dialect = {"dialect": "go"} if params else {}
    assert (found.strategy, dict(found.strategy_params)) == (name, params | dialect)
    assert (found.strategy_source, found.strategy_explains, found.strategy_doubt) == (
        "fitted",
        1.0,
        None,
    )


def test_a_ring_that_all_clients_describe_is_no_doubt():
    two = [Client(one, strategy="CONSISTENT_HASH", virtual_nodes=160) for one in IDS[:2]]
    assert summary(known(cluster(*two))) == ("CONSISTENT_HASH", 160, "reported", None, False)


@pytest.mark.parametrize(
    "fields", [{"message_model": "BROADCASTING"}, {"server_assignment": "POP"}, {"is_shared": True}]
)
def test_groups_that_do_not_divide_have_no_strategy(fields):
    assert known(cluster(Client("c1"), **fields)).strategy_source is None


# --- What the owners say ---


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("AVG", {}),
        ("AVG_BY_CIRCLE", {}),
        ("CONSISTENT_HASH", {"virtual_nodes": 10}),
        ("CONSISTENT_HASH", {"virtual_nodes": 160}),
        ("CONSISTENT_HASH", {"virtual_nodes": 1000}),
    ],
)
def test_the_only_strategy_that_explains_all_owners_is_fitted(name, params):
    group = known(cluster(*owning(name, *IDS, **params)))
    assert summary(group) == (name, params.get("virtual_nodes"), "fitted", 1.0, False)


def test_virtual_nodes_are_fitted_where_only_the_ring_is_reported():
    clients = [
        replace(one, strategy="CONSISTENT_HASH")
        for one in owning("CONSISTENT_HASH", *IDS, virtual_nodes=160)
    ]
    assert summary(known(cluster(*clients))) == ("CONSISTENT_HASH", 160, "fitted", 1.0, False)


@pytest.mark.parametrize("source", ["given", "reported"])
def test_owners_that_refute_what_is_said_are_a_doubt(source):
    clients = owning("CONSISTENT_HASH", *IDS, virtual_nodes=160)
    if source == "given":
        group = known(cluster(*clients, strategy="AVG"))
    else:
        group = known(cluster(*(replace(one, strategy="AVG") for one in clients)))
    expected = rule("AVG").allocate
    queues = sorted(TOPIC.queues())
    n = sum(
        len(set(one.owned) & set(expected("g", one.client_id, queues, list(IDS))))
        for one in clients
    )
    assert summary(group) == ("AVG", None, source, n / 32, True)
    assert (
        group.strategy_doubt
        == f"AVG explains {n} of 32 known owners, CONSISTENT_HASH with 160 virtual nodes 32"
    )


def test_several_strategies_that_explain_all_are_a_doubt():
    four = owning("AVG", *IDS[:4], topic=Topic("T", (TopicBroker("a", 4),)))
    group = known(cluster(*four, topic=Topic("T", (TopicBroker("a", 4),))))
    assert summary(group) == ("AVG", None, "assumed", 1.0, True)
    assert group.strategy_doubt == "AVG and AVG_BY_CIRCLE explain its 4 known owners equally well"


def test_what_is_said_is_confirmed_by_owners_that_others_explain_too():
    one = Topic("T", (TopicBroker("a", 4),))
    clients = [
        replace(client, strategy="AVG_BY_CIRCLE") for client in owning("AVG", *IDS[:4], topic=one)
    ]
    assert summary(known(cluster(*clients, topic=one))) == (
        "AVG_BY_CIRCLE",
        None,
        "reported",
        1.0,
        False,
    )


def test_a_strategy_of_nobody_is_assumed_with_what_it_explains():
    first, *rest = owning("AVG", *IDS)
    shifted = [
        replace(one, owned=other.owned)
        for one, other in zip([first, *rest], [*rest, first], strict=True)
    ]
    group = known(cluster(*shifted))
    assert summary(group) == ("AVG", None, "assumed", 0.0, True)


def test_queues_that_two_clients_claim_are_no_evidence_however_many():
    first, *rest = owning("AVG_BY_CIRCLE", *IDS)
    greedy = replace(
        first, owned=(*first.owned, *(queue for one in rest[:3] for queue in one.owned))
    )
    group = known(cluster(greedy, *rest))
    assert summary(group) == ("AVG_BY_CIRCLE", None, "fitted", 1.0, False)


def test_of_two_wrong_claims_neither_is_evidence():
    """Whichever of the two were taken, no strategy would explain it."""
    first, second, third, *rest = owning("AVG_BY_CIRCLE", *IDS)
    contested, *kept = first.owned
    wrong = [replace(one, owned=(*one.owned, contested)) for one in (second, third)]
    assert summary(known(cluster(replace(first, owned=tuple(kept)), *wrong, *rest)))[:4] == (
        "AVG_BY_CIRCLE", None, "fitted", 1.0,
    )  # fmt: skip


def test_queues_of_nobody_and_of_several_are_no_evidence():
    first, second, *rest = owning("AVG_BY_CIRCLE", *IDS)
    first, second = (
        replace(first, owned=None),
        replace(second, owned=(*second.owned, rest[0].owned[0])),
    )
    assert summary(known(cluster(first, second, *rest)))[:4] == (
        "AVG_BY_CIRCLE",
        None,
        "fitted",
        1.0,
    )


def test_a_client_that_reports_no_strategy_is_refuted_by_a_queue_that_it_shares():
    """Otherwise its queues are those of AVG but for one of nobody; it divides AVG's queues from the
    last to the first.
    """
    ids, queues = IDS[:3], sorted(TOPIC.queues())
    clients = [replace(one, strategy="AVG") for one in owning("AVG", *ids)]
    own = tuple(rule("AVG").allocate("g", ids[1], queues[::-1], list(ids)))
    clients[1] = Client(ids[1], owned=own)
    assert len(set(own) & set(clients[0].owned)) == 1
    group = known(cluster(*clients))
    assert summary(group) == ("AVG", None, "reported", 30 / 31, True)
    assert group.strategy_doubt == "AVG explains 30 of 31 known owners"


def test_a_ring_written_down_without_virtual_nodes_stays_rocketmqs_unless_owners_refute_it():
    two = Topic("T", (TopicBroker("a", 2),))
    ten = known(
        cluster(*owning("CONSISTENT_HASH", "c1", topic=two), topic=two, strategy="CONSISTENT_HASH")
    )
    assert summary(ten) == ("CONSISTENT_HASH", 10, "given", 1.0, False)
    wide = known(
        cluster(*owning("CONSISTENT_HASH", *IDS, virtual_nodes=100), strategy="CONSISTENT_HASH")
    )
    assert summary(wide) == ("CONSISTENT_HASH", 100, "fitted", 1.0, False)


def test_rooms_are_tried_where_they_are_known():
    topic = Topic(
        "T", (TopicBroker("a", 8, machine_room="x"), TopicBroker("b", 8, machine_room="y"))
    )
    rooms = {"c1": "y", "c2": "x", "c3": "x", "c4": "y"}
    queues = {
        room: [q for q in sorted(topic.queues()) if q.broker_name == name]
        for name, room in (("a", "x"), ("b", "y"))
    }
    clients = [
        Client(
            one,
            room,
            owned=tuple(
                rule("AVG").allocate("g", one, queues[room], [c for c in rooms if rooms[c] == room])
            ),
        )
        for one, room in rooms.items()
    ]
    assert known(cluster(*clients, topic=topic)).strategy == "MACHINE_ROOM_NEARBY-AVG"


STATED = st.sampled_from(
    [("AVG", {}), ("AVG_BY_CIRCLE", {}), ("CONSISTENT_HASH", {"virtual_nodes": 50})]
)


@given(
    STATED, st.integers(1, 7), st.lists(st.integers(0, 12), min_size=1, max_size=3), st.booleans()
)
def test_what_is_computed_without_a_doubt_is_what_the_clients_own(real, n_clients, counts, is_said):
    topic = Topic("T", tuple(TopicBroker(f"b{i}", n) for i, n in enumerate(counts)))
    ids = [f"10.0.0.{i}@1" for i in range(n_clients)]
    clients = (
        owning(real[0], *ids, topic=topic, **real[1]) if sum(counts) else tuple(map(Client, ids))
    )
    group = known(cluster(*clients, topic=topic, strategy="AVG_BY_CIRCLE" if is_said else None))
    if group.strategy_doubt is None and sum(counts):
        made = rule(group.strategy, **group.strategy_params)
        queues = sorted(topic.queues())
        assert all(
            set(made.allocate("g", one.client_id, queues, ids)) == set(one.owned) for one in clients
        )
    elif sum(counts):
        assert (
            group.strategy_explains < 1
            or "equally well" in group.strategy_doubt
            or "chance" in group.strategy_doubt
        )


# --- What is done about a doubt ---


def test_once_known_a_strategy_is_not_looked_at_again():
    done = with_strategies(
        cluster(*owning("AVG", *IDS), strategy="AVG_BY_CIRCLE", strategy_source="given")
    )
    assert done.groups[0].strategy_doubt is None


def test_a_doubt_is_accepted_or_overruled():
    doubted = cluster(*owning("CONSISTENT_HASH", *IDS), strategy="AVG")
    accepted = known(doubted, assume=True)
    assert (accepted.strategy, accepted.strategy_source, accepted.strategy_doubt) == (
        "AVG",
        "given",
        None,
    )
    stated = known(
        with_strategies(doubted), strategy="CONSISTENT_HASH", params={"virtual_nodes": 10}
    )
    assert summary(stated) == ("CONSISTENT_HASH", 10, "given", 1.0, False)


def test_other_groups_are_left_as_they_are():
    two = Snapshot(
        (TOPIC,), (Group("g", ("T",), (Client("c"),)), Group("h", ("T",), (Client("c"),)))
    )
    assert [one.strategy_source for one in with_strategies(two, ["h*"]).groups] == [None, "assumed"]


def test_groups_without_clients_are_in_doubt_only_where_clients_join():
    empty, one = decided_of(cluster()), cluster(Client("c"))
    outcomes = [empty.decisions(Verb.PLAN, clients_join=join).worst.name for join in (False, True)]
    assert outcomes == ["NOT_DIVIDED", "REFUSED"]
    assert decided_of(one).decisions(Verb.PLAN).by_group.keys() == {"g"}
    assert decided_of(one).decisions(Verb.PLAN, topics=["U"]).by_group == {}
    assert decided_of(one, groups=["h"]).decisions(Verb.PLAN).by_group == {}


def test_lines_say_what_is_known():
    clients = owning("CONSISTENT_HASH", *IDS, virtual_nodes=160)
    lines = list(evidence_lines(with_strategies(cluster(*clients, strategy="AVG"))))
    assert len(lines) == 1
    assert lines[0].startswith("strategy AVG, given, explains ")
    assert lines[0].endswith(" % of the known owners: g")


def test_plans_leave_a_doubt_out_and_say_why():
    unclear = cluster(
        Client("c1", strategy="AVG"), Client("c2", strategy="CONSISTENT_HASH")
    )  # of how many virtual nodes
    with pytest.raises(UnansweredError, match="left out: g: its strategy is in doubt") as raised:
        plan_snapshot(unclear, LOSE_ONE)
    assert raised.value.outcome is Outcome.REFUSED


def test_a_known_mixed_group_is_what_check_finds():
    """What planning refuses to compute, the audit does client by client."""
    topic = Topic("T", (TopicBroker("a", 8),))
    mixed = cluster(
        Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE"), topic=topic
    )
    assert {one.rule for one in check_snapshot(mixed)} >= {
        "unowned-queue",
        "double-owned-queue",
        "mixed-strategies",
    }


# --- Files ---


@pytest.mark.parametrize("path", sorted(OLD.iterdir()), ids=lambda path: path.name)
def test_files_of_0_1_0_are_read(path):
    snapshot = read_snapshot(str(path))
    assert snapshot.groups
    assert "rmqalloc/v1" in path.read_text()
    assert all(one.strategy_source is None for one in snapshot.groups)


def test_a_live_file_of_0_1_0_is_fitted_again():
    found = {one.name: one for one in with_strategies(read_snapshot(str(OLD / "live.json"))).groups}
    assert summary(found["shipping"]) == ("CONSISTENT_HASH", 10, "fitted", 1.0, False)
    assert summary(found["billing"]) == ("AVG", None, "reported", 1.0, False)
    assert found["cache"].strategy_source is None


@pytest.mark.parametrize(
    ("client", "shared"),
    [
        ({"client_id": "vm@17844@0@zm718bkj"}, True),
        ({"client_id": "10.0.0.1@x", "language": "GO", "version": "5.1.0"}, False),
        ({"client_id": "10.0.0.1@4121#77", "language": "JAVA", "version": "5.5.0"}, False),
    ],
)
def test_a_group_of_a_file_is_behind_a_proxy_by_the_ids_of_its_clients(client, shared):
    group = {"name": "g", "subscriptions": ["T"], "clients": [{"client_id": "10.0.0.2@1"}, client]}
    for version in ("rmqalloc/v1", "rmqalloc/v2"):
        document = {"apiVersion": version, "kind": "Snapshot", "groups": [group]}
        assert from_document(document).groups[0].is_shared is shared


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "parquet"])
def test_what_is_known_is_kept_in_files(form, tmp_path):
    path = str(tmp_path / f"s.{form}")
    before = with_strategies(
        cluster(*owning("CONSISTENT_HASH", *IDS, virtual_nodes=160), strategy="AVG")
    ).groups[0]
    write_snapshot(Snapshot((TOPIC,), (before,)), path)
    [after] = read_snapshot(path).groups
    assert summary(after) == summary(before)
    assert after.strategy_doubt == before.strategy_doubt


def test_new_documents_say_their_version():
    assert to_document(Snapshot())["apiVersion"] == "rmqalloc/v2"


# --- The command line ---


VERBS = {
    "plan": ("plan", "--remove-client", "c1"),
    "compare": ("compare", "--to-strategy", "AVG,AVG_BY_CIRCLE"),
    "recommend": ("recommend",),
    "explain": ("explain", "-g", "g", "-t", "T", "--queue", "a:3"),
    "rollout restart": ("rollout", "restart"),
    "rollout broker": ("rollout", "broker", "--broker", "a"),
    "rollout queues": ("rollout", "queues", "-t", "T", "--set-queues", "20"),
    "rollout strategy": ("rollout", "strategy", "--to-strategy", "AVG_BY_CIRCLE"),
    "rollout subscription": ("rollout", "subscription", "-t", "U"),
}
BY_CLIENT = ("plan", "explain", "compare", "rollout strategy")
"""Verbs that work out groups whose clients differ."""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ["nothing known", "mixed", "refuted"])
def test_every_verb_ends_with_1_on_a_doubt_unless_it_is_settled(verb, kind, tmp_path, capsys):
    clients = {
        "nothing known": tuple(map(Client, IDS)),
        "mixed": (
            *(Client(one, strategy="AVG") for one in IDS[:4]),
            Client("c5", strategy="AVG_BY_CIRCLE"),
        ),
        "refuted": tuple(replace(one, strategy="AVG") for one in owning("CONSISTENT_HASH", *IDS)),
    }[kind]
    path = tmp_path / "s.json"
    topics = (TOPIC, Topic("U", (TopicBroker("a", 4),)))
    write_snapshot(Snapshot(topics, (Group("g", ("T",), clients),)), str(path))
    words = list(VERBS[verb])
    at = 2 if words[0] == "rollout" else 1
    command = [*words[:at], "-f", str(path), *words[at:]]
    # What explain says of the present does not rest on the strategy.
    is_answered = verb == "explain" or (kind == "mixed" and verb in BY_CLIENT)
    assert app.run(command) == (0 if is_answered else 1)
    said = " ".join("".join(capsys.readouterr()).split())
    why = "use different strategies" if kind == "mixed" else "in doubt"
    assert why in said or "nothing shows which strategy its clients use" in said
    assert app.run([*command, "--require", "any"]) == 0
    assert app.run([*command, "--strategy", "AVG"]) == 0


def test_a_doubt_in_one_group_leaves_the_others_planned(tmp_path, capsys):
    path = tmp_path / "s.json"
    sure = Group("sure", ("T",), tuple(map(Client, IDS)), strategy="AVG")
    write_snapshot(
        Snapshot((TOPIC,), (sure, Group("unsure", ("T",), tuple(map(Client, IDS))))), str(path)
    )
    assert app.run(["plan", "-f", str(path), "--remove-client", "c1", "-o", "json"]) == 1
    out, err = capsys.readouterr()
    assert {row["consumer_group"] for row in json.loads(out)} == {"sure"}
    assert "default); --strategy states the strategy, --require any accepts any evidence\n" in err
    assert app.run(["plan", "-f", str(path), "--remove-client", "c1", "-g", "sure"]) == 0


def test_three_clients_that_report_a_ring_are_not_planned_as_avg(tmp_path, capsys):
    path = tmp_path / "s.json"
    clients = tuple(Client(one, strategy="CONSISTENT_HASH", virtual_nodes=10) for one in IDS[:3])
    write_snapshot(cluster(*clients), str(path))
    assert (
        app.run(
            ["plan", "-f", str(path), "--remove-client", "c1", "--show", "queues", "-o", "json"]
        )
        == 0
    )
    out, err = capsys.readouterr()
    queues = [
        MessageQueue(row["topic"], row["broker_name"], row["queue_id"]) for row in json.loads(out)
    ]
    owners = rmqalloc.strategy("CONSISTENT_HASH").assign(queues, list(IDS[:3])).owners.tolist()
    assert [row["owner_before"] for row in json.loads(out)] == [IDS[owner] for owner in owners]
    assert "strategy CONSISTENT_HASH with 10 virtual nodes, reported" in err


def test_an_empty_group_is_planned_only_by_a_strategy_that_is_known(tmp_path):
    path = tmp_path / "s.json"
    full = Group("full", ("T",), (Client("c1"),), strategy="AVG")
    write_snapshot(Snapshot((TOPIC,), (full, Group("empty", ("T",)))), str(path))
    assert app.run(["plan", "-f", str(path), "--remove-broker", "a"]) == 0
    assert app.run(["plan", "-f", str(path), "--scale", "3"]) == 1
    assert app.run(["plan", "-f", str(path), "--scale", "3", "--require", "any"]) == 0


def test_the_audit_notes_a_guess_and_nothing_else_of_it():
    found = check_snapshot(cluster(*map(Client, IDS)))
    assert [(one.rule, one.severity) for one in found] == [("strategy-assumed", "note")]
    assert "with an assumed strategy, AVG: nothing shows" in found[0].message
    assert check_snapshot(cluster(*map(Client, IDS), strategy="AVG")) == ()
    assert "strategy-assumed" not in {
        one.rule for one in check_snapshot(cluster(*owning("AVG", *IDS), strategy="AVG_BY_CIRCLE"))
    }


def test_an_owner_whom_the_group_does_not_list_is_not_explained():
    queues = tuple(sorted(TOPIC.queues()))
    owned = OwnedQueues(
        "g", ("c1",), [queues], [dict.fromkeys(queues, "c1") | {queues[0]: "ghost"}]
    )
    [fit] = fits_of([owned], [[Method("AVG")]], Rooms({}, {}))
    assert (fit.explained, fit.of, fit.explains_all) == (31, 32, False)


def test_a_fit_that_may_be_chance_is_a_doubt():
    small = Topic("T", (TopicBroker("a", 5),))
    clients = owning("AVG_BY_CIRCLE", "c1", "c2", topic=small)
    group = known(cluster(*clients, topic=small))
    assert (group.strategy_source, group.strategy_explains) == ("assumed", 1.0)
    assert (
        "equally well" in group.strategy_doubt
        or "too few to distinguish it from chance" in group.strategy_doubt
    )
    nine, ten = (
        Topic("T", (TopicBroker("a", n),)) for n in (10, 11)
    )  # 16 / 2 ** 10 is above 1 %, 16 / 2 ** 11 below
    found = [
        known(cluster(*owning("AVG_BY_CIRCLE", "c1", "c2", topic=one), topic=one))
        for one in (nine, ten)
    ]
    assert [one.strategy_source for one in found] == ["assumed", "fitted"]
    assert (
        found[0].strategy_doubt
        == "AVG_BY_CIRCLE explains its 10 known owners, which are too few to distinguish it from chance"
    )


def test_rocketmqs_default_of_virtual_nodes_needs_less_to_be_believed():
    small = Topic("T", (TopicBroker("a", 8),))
    clients = [
        replace(one, strategy="CONSISTENT_HASH")
        for one in owning("CONSISTENT_HASH", "c1", "c2", topic=small)
    ]
    assert known(cluster(*clients, topic=small)).strategy_params == {"virtual_nodes": 10}


def test_rings_that_come_to_the_same_are_a_doubt_however_many_queues_there_are():
    """Rings of 128 and 160 virtual nodes share most points, and for these ids all 32 queues."""
    topic = Topic(
        "evidence-orders", (TopicBroker("hz@broker-a", 16), TopicBroker("sh@broker-b", 16))
    )
    ids = [f"192.0.2.2@evidence-ring160-e-{i}" for i in (1, 2, 3)]
    clients = owning("CONSISTENT_HASH", *ids, topic=topic, virtual_nodes=160)
    group = known(cluster(*clients, topic=topic))
    assert (group.strategy, group.strategy_source, group.strategy_explains) == (
        "CONSISTENT_HASH",
        "assumed",
        1.0,
    )
    assert group.strategy_doubt == (
        "CONSISTENT_HASH with 128 virtual nodes and CONSISTENT_HASH with 160 virtual nodes explain its 32 known owners "
        "equally well"
    )
