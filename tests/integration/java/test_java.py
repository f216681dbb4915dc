"""RocketMQ's own classes, asked in this run: thousands of fresh random cases, and the golden file
once more.

``RMQALLOC_SEED`` repeats a run; the seed and the number of cases compared are printed by every run,
captured or not. Where a JDK or Maven is missing, these tests are skipped and say what to install.
"""

import gzip
import json
import os
from collections import Counter, defaultdict
from random import SystemRandom

import java_cases
import java_driver
import pytest
from checkout import DATA
from java_cases import GHOST
from reference import IllegalArgument, NullPointer, java_string

from rmqalloc import Fleet, sort_client_ids, sort_queues, strategy
from rmqalloc.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.java

GOLDEN = DATA / "golden.jsonl.gz"
N_GOLDEN = 3049
# A ring is built anew for everyone who is asked: of groups that would take seconds, only some are
# asked.
RING_STEPS = 1_000_000

SEED = int(os.environ.get("RMQALLOC_SEED") or SystemRandom().randrange(2**32))
LEAST = {
    "AVG": 240,
    "AVG_BY_CIRCLE": 240,
    "CONSISTENT_HASH": 600,
    "MACHINE_ROOM": 270,
    "CONFIG": 100,
    "MACHINE_ROOM_NEARBY": 500,
    "POP": 340,
}
every_family = pytest.mark.parametrize("family", LEAST)

JAVA_CLASS = {
    ArgumentError: "IllegalArgumentException",
    IllegalArgument: "IllegalArgumentException",
    ArgumentTypeError: "NullPointerException",
    NullPointer: "NullPointerException",
}


@pytest.fixture(scope="module")
def witness():
    """The real classes."""
    java_driver.maven_classpath(java_driver.PROJECT)
    return java_driver.witness


@pytest.fixture(scope="module")
def say(request):
    """Print past pytest's capture."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def print_now(text):
        with capture.global_and_fixture_disabled():
            print(f"\n{text}")

    return print_now


@pytest.fixture(scope="module")
def families(witness, say):
    """The random cases by family, each with Java's answers in ``case["java"]``."""
    say(f"RMQALLOC_SEED={SEED} repeats these cases")
    cases = java_cases.random_cases(SEED)
    answers = witness(java_cases.request(case, number) for number, case in enumerate(cases))
    by_family = defaultdict(list)
    for case, answer in zip(cases, answers, strict=True):
        case["java"] = answer
        by_family[case["setup"].family].append(case)
    return dict(by_family)  # a family without a case is an error in every test


def in_java_words(error):
    """Class and text of an error; the text of a NullPointerException is the JVM's own affair."""
    name = JAVA_CLASS[type(error)]
    return name if name == "NullPointerException" else java_string(f"{name}: {error}")


def java_error(text):
    """Java's error in the same form."""
    return text.split(":")[0] if text.startswith("NullPointerException") else text


def java_answer(case, probe):
    """Positions of the probe's queues, ``None``, or an error."""
    answer = case["java"]
    if probe is None:
        error = answer.get("null_client_error")
        return java_error(error) if error else answer["null_client_result"]
    return (
        java_error(answer["errors"][probe])
        if probe in answer["errors"]
        else answer["result"][probe]
    )


def positions(case, queues):
    """The same form for our answer: by object, as equal queues repeat; queues that POP sharing made
    by value.
    """
    if queues is None:
        return None
    source = case["setup"].rule.source
    source = (case["queues"] or []) if source is None else source
    position_of = {id(queue): position for position, queue in enumerate(source)}
    if case["java"].get("queue_id_minus_one"):
        assert [tuple(queue) for queue in queues] == [
            (topic, broker, -1) for topic, broker, _ in source
        ]
        return list(range(len(source)))
    return [position_of[id(queue)] for queue in queues]


def answer_of(rule, case, probe):
    """What a rule of ours answers, in the same form as `java_answer`."""
    try:
        return positions(case, rule.allocate("group", probe, case["queues"], case["clients"]))
    except tuple(JAVA_CLASS) as error:
        return in_java_words(error)


def check(cases, given, expected):
    """Compare on every case; of the disagreements show the smallest, and how to see it again."""
    wrong = [(case, given(case), expected(case)) for case in cases]
    wrong = [row for row in wrong if row[1] != row[2]]
    if wrong:
        case, ours, java = min(
            wrong, key=lambda row: len(row[0]["queues"] or ()) + len(row[0]["clients"] or ())
        )
        asked = json.dumps(java_cases.request(case, case["java"]["id"]))
        pytest.fail(
            f"{len(wrong)} of {len(cases)} cases differ from Java; RMQALLOC_SEED={SEED} repeats them.\n"
            f"case: {asked}\nours: {ours}\nJava: {java}"
        )


def per_rule(cases):
    """The cases of each setup."""
    by_rule = defaultdict(list)
    for case in cases:
        by_rule[id(case["setup"])].append(case)
    return by_rule.values()


def one_owner(case):
    """Whether a queue goes to one client at most."""
    return case["setup"].rule.name != "POP" and "CONFIG" not in case["setup"].rule.name


# --- The cases --------------------------------------------------------------------------------------------------------


def test_every_strategy_got_its_cases(families, say):
    n_cases = {family: len(cases) for family, cases in families.items()}
    n_questions = sum(len(case["probes"]) for cases in families.values() for case in cases)
    say(
        f"compared with Java: {sum(n_cases.values())} random cases, {n_questions} answers; {n_cases}"
    )
    assert sum(n_cases.values()) >= 2000
    assert n_cases.keys() == LEAST.keys()
    assert [family for family in LEAST if n_cases[family] < LEAST[family]] == []


def test_the_cases_are_of_every_kind(families):
    """Chance must not leave a kind out: shares and empty shares, both errors, all three ways of POP
    sharing.
    """
    kinds = Counter()
    for family, cases in families.items():
        for case in cases:
            n, m = len(case["queues"] or ()), len(case["clients"] or ())
            kinds.update((family, str(java_answer(case, probe))[:20]) for probe in case["probes"])
            if family == "POP" and not case["java"].get("queue_id_minus_one"):
                kinds["POP shared" if m <= n else "POP one each"] += 1
            kinds["POP all"] += "queue_id_minus_one" in case["java"]
            kinds["repeated id"] += len(set(case["clients"] or ())) < m
            kinds["sort refused"] += "sort_error" in case["java"]
    for family in LEAST.keys() - {"CONFIG", "POP"}:
        assert min(kinds[family, "[]"], kinds[family, "IllegalArgumentExcep"]) > 0, family
    assert (
        min(
            kinds[family, "NullPointerException"]
            for family in ("MACHINE_ROOM", "MACHINE_ROOM_NEARBY")
        )
        > 0
    )
    assert all(
        kinds[kind] >= 10
        for kind in ("POP shared", "POP one each", "POP all", "repeated id", "sort refused")
    )


# --- One client at a time ---------------------------------------------------------------------------------------------


@every_family
def test_the_reference_answers_as_java(families, family):
    for cases in per_rule(families[family]):
        rule = cases[0]["setup"].rule.reference()
        some = [
            case for case in cases if case["queues"] is not None and case["clients"] is not None
        ]
        check(
            some,
            lambda case, rule=rule: [answer_of(rule, case, probe) for probe in case["probes"]],
            lambda case: [java_answer(case, probe) for probe in case["probes"]],
        )


@every_family
def test_allocate_answers_as_java(families, family):
    assert families[family]
    for cases in per_rule(families[family]):
        rule = cases[0]["setup"].rule.make()
        assert rule.get_name() == cases[0]["java"]["name"]
        check(
            cases,
            lambda case, rule=rule: [answer_of(rule, case, probe) for probe in case["probes"]],
            lambda case: [java_answer(case, probe) for probe in case["probes"]],
        )


# --- The whole group --------------------------------------------------------------------------------------------------


def member_answers(case):
    """Java's answers to the members; nobody can ask as the empty id. Without any, its answer to a
    stranger.
    """
    members = dict.fromkeys(java_string(client) for client in case["clients"] or () if client) or [
        GHOST
    ]
    return {member: java_answer(case, member) for member in members}


def java_errors(case):
    """The errors that members get."""
    return [answer for answer in member_answers(case).values() if isinstance(answer, str)]


def java_owners(case):
    """The first place of the id that got the queue, else -1; or the first error that a member gets."""
    if errors := java_errors(case):
        return errors[0]
    clients = list(map(java_string, case["clients"]))
    owners = [-1] * len(case["queues"])
    for member, queues in member_answers(case).items():
        for queue in queues:
            assert owners[queue] == -1, "Java gave a queue to two"
            owners[queue] = clients.index(member)
    return owners


def somebody_asks(case):
    """Java has nothing to compare with where all clients have the empty id."""
    return not case["clients"] or any(case["clients"])


def assigned(rule, case):
    """Our owners or error."""
    try:
        return rule.assign(case["queues"], case["clients"]).owners.tolist()
    except tuple(JAVA_CLASS) as error:
        ours = in_java_words(error)
        return java_owners(case) if ours in java_errors(case) or unseen(case) else ours


def unseen(case):
    """Whether ours may be an error that no member meets in Java.

    So it is in a machine room that has only the empty id, and in rooms within rooms: each member
    walks through them in an order of its own, and stops at the first error.
    """
    within = case["setup"].rule.name.count("NEARBY") > 1 and java_errors(case)
    return within or ("NEARBY" in case["setup"].rule.name and "" in case["clients"])


def assigned_shares(rule, case):
    """Our shares of each client where queues are shared."""
    try:
        shared = rule.assign(case["queues"], case["clients"])
    except tuple(JAVA_CLASS) as error:
        return refused(case, in_java_words(error))
    expected = java_shares(case)
    given = enumerate(shared.queues)
    return [
        said(shared.errors[i], expected[i]) if i in shared.errors else positions(case, some)
        for i, some in given
    ]


def said(reason, expected):
    """Our error as text; that of a NullPointerException is not compared."""
    return expected if expected == "NullPointerException" else java_string(reason)


def java_shares(case):
    """What Java gives each client; errors without their class."""
    answers = [java_answer(case, java_string(client)) for client in case["clients"]]
    return [
        answer.partition(": ")[2] or answer if isinstance(answer, str) else answer
        for answer in answers
    ]


def refused(case, reason):
    """Java's shares if it refuses everybody too, and those with an id for our reason."""
    expected = java_shares(case)
    asking = [
        answer for client, answer in zip(case["clients"], expected, strict=True) if client.strip()
    ]
    same = all(isinstance(answer, str) for answer in expected) and all(
        reason.endswith(answer) for answer in asking
    )
    return expected if same else reason


@every_family
def test_assign_gives_the_owners_of_java(families, family):
    for cases in per_rule(families[family]):
        rule = cases[0]["setup"].rule.make()
        if one_owner(cases[0]):
            some = list(filter(somebody_asks, cases))
            check(some, lambda case, rule=rule: assigned(rule, case), java_owners)
        else:
            some = [case for case in cases if case["queues"] and case["clients"]]
            check(some, lambda case, rule=rule: assigned_shares(rule, case), java_shares)


def fits_a_fleet(case):
    """Whether a Fleet can hold the group, and Java has an answer to compare: no nulls, and rooms by
    broker.
    """
    queues = case["queues"]
    nulls = None in (queues, case["clients"]) or any(None in queue for queue in queues)
    return not nulls and case["setup"].rule.by_broker and somebody_asks(case)


def fleet_of(cases):
    return Fleet.from_groups(
        (f"g{i}", "t", case["queues"], case["clients"]) for i, case in enumerate(cases)
    )


@pytest.mark.parametrize("family", sorted(LEAST.keys() - {"CONFIG", "POP"}))
def test_a_fleet_gives_the_owners_of_java(families, family):
    n_units = 0
    fit = [case for case in families[family] if one_owner(case) and fits_a_fleet(case)]
    for cases in per_rule(fit):
        rule, fleet = cases[0]["setup"].rule.make(), fleet_of(cases)
        owners = rule.assign_fleet(fleet, on_error="report")
        reasons = {error.position: error.reason for error in rule.fleet_errors(fleet)}
        for i, case in enumerate(cases):
            case["unit"] = (
                owners[fleet.queue_offsets[i] : fleet.queue_offsets[i + 1]].tolist(),
                reasons.get(i),
            )
        check(cases, fleet_answer, java_owners)
        n_units += len(cases)
    assert n_units >= LEAST[family] // 5


def fleet_answer(case):
    """The unit's owners, or Java's error if the fleet's reason has its text and nobody was given
    anything.
    """
    given, reason = case["unit"]
    if reason is None:
        return given
    known = any(
        error.partition(": ")[2] in java_string(reason) for error in java_errors(case)
    ) or unseen(case)
    return java_owners(case) if known and set(given) <= {-1} else (given, reason)


def test_a_fleet_gives_the_shares_of_java(families):
    for cases in per_rule([case for case in families["POP"] if fits_a_fleet(case)]):
        rule, fleet = cases[0]["setup"].rule.make(), fleet_of(cases)
        shares = rule.share_fleet(fleet, on_error="report")
        reasons = {error.position: error.reason for error in rule.fleet_errors(fleet)}
        for i, case in enumerate(cases):
            slots = range(fleet.client_offsets[i], fleet.client_offsets[i + 1])
            everything = list(range(len(case["queues"]))) if shares.whole_broker[i] else None
            given = [fleet_share(shares, slot, everything) for slot in slots]
            case["unit"] = refused(case, java_string(reasons[i])) if i in reasons else given
        check(cases, lambda case: case["unit"], java_shares)


def fleet_share(shares, slot, everything):
    """What one client of a fleet gets, in the form of `java_shares`."""
    if shares.refused[slot]:
        return "currentCID is empty"
    if everything is not None:
        return everything
    return shares.queues[shares.offsets[slot] : shares.offsets[slot + 1]].tolist()


# --- The caller's sort ------------------------------------------------------------------------------------------------


def test_sorts_are_those_of_java(families):
    cases = [
        case
        for cases in families.values()
        for case in cases
        if {"sorted", "sort_error"} & case["java"].keys()
    ]
    check(cases, our_sort, java_sort)


def our_sort(case):
    place = {id(queue): i for i, queue in enumerate(case["queues"])}
    try:
        queues, clients = sort_queues(case["queues"]), sort_client_ids(case["clients"])
    except TypeError as error:
        return in_java_words(error)
    return [place[id(queue)] for queue in queues], list(map(java_string, clients))


def java_sort(case):
    if "sort_error" in case["java"]:
        return java_error(case["java"]["sort_error"])
    order = case["java"]["sorted"]
    return order["queues"], [java_string(case["clients"][i]) for i in order["clients"]]


# --- Making a rule ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("virtual_nodes", [-1, -100, -(2**31)])
def test_a_negative_number_of_virtual_nodes_is_refused_as_in_java(witness, virtual_nodes):
    group = {"queues": [["T", "b", 0]], "clients": ["a"], "probes": ["a"]}
    (answer,) = witness(
        [{"id": 0, "strategy": "CONSISTENT_HASH", "params": {"vnodes": virtual_nodes}, **group}]
    )
    with pytest.raises(ValueError, match="virtualNodeCnt") as refused:
        strategy("CONSISTENT_HASH", virtual_nodes=virtual_nodes)
    assert (answer["error_at"], answer["error"]) == ("constructor", in_java_words(refused.value))


# --- The golden file --------------------------------------------------------------------------------------------------


def golden_request(case):
    """Ask again for everyone in the file, or for every 17th where that would take long."""
    probes = [*case.get("result", {}), *case.get("errors", {})] or case["clients"]
    steps = len(case["clients"]) ** 2 * len(probes) * case["params"].get("vnodes", 0)
    probes = probes[:: 17 if steps > RING_STEPS else 1]
    probes += [None] * any(key.startswith("null_client") for key in case)
    asked = {key: case[key] for key in ("id", "strategy", "params", "queues", "clients")}
    return {**asked, "probes": probes, "sort": not case["sorted_input"]}


def agrees(case, request, answer):
    """Whether every field of the file that the answer has to repeat is repeated."""
    if "error_at" in case:
        return (answer["error_at"], answer["error"]) == ("constructor", case["error"])
    probes = [probe for probe in request["probes"] if probe is not None]
    results, errors = case.get("result", {}), case.get("errors", {})
    right = answer["name"] == case["strategy"]
    right &= answer["result"] == {probe: results[probe] for probe in probes if probe in results}
    right &= worded(answer["errors"]) == worded(
        {probe: errors[probe] for probe in probes if probe in errors}
    )
    right &= all(
        answer.get(key) == case.get(key)
        for key in ("sorted", "sort_error", "null_client_result", "null_client_error")
    )
    if "set_size" in case:
        right &= answer["set_size"] == case["set_size"]
        right &= answer.get("queue_id_minus_one", False) == (
            case["queue_id_minus_one"] and bool(case["queues"])
        )
    return right


def worded(errors):
    return {probe: java_error(text) for probe, text in errors.items()}


def test_the_driver_reproduces_the_golden_file(witness, say):
    with gzip.open(GOLDEN, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    requests = list(map(golden_request, cases))
    answers = witness(requests)
    rows = zip(cases, requests, answers, strict=True)
    assert [case["id"] for case, request, answer in rows if not agrees(case, request, answer)] == []
    say(f"compared with Java: {len(cases)} golden cases")
    assert len(cases) == N_GOLDEN
