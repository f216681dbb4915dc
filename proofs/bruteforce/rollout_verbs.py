"""Rollouts: a random one of each kind, and the comparison of every step of it."""

import re

from bruteforce import advised, clusters, java, random_changes, rolled
from bruteforce.tally import by_key
from rmqalloc.rollouts._best_restart import best_restart
from rmqalloc.rollouts._maintain import maintain_broker
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.resize import resize_queues
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.snapshot.plain_data import from_document


def case_of(random):
    document = clusters.snapshot(random, tame=True)
    for group in document["groups"] if clusters.chance(random, 0.06) else ():
        more = dict.fromkeys(
            f"10.1.{random.randint(0, 9)}.{random.randint(0, 99)}@1"
            for _ in range(random.randint(1, 20))
        )
        rooms = random_changes.rooms_known(document)
        group["clients"] = group.get("clients", []) + [
            {"client_id": one} | ({"machine_room": random.choice(clusters.ROOMS)} if rooms else {})
            for one in more
        ]
    name, params = clusters.rule(random)
    while name.startswith(java.NEARBY) and not random_changes.rooms_known(document):
        name, params = clusters.rule(random)
    return {
        "snapshot": document,
        "batch": random.choice((1, 1, 2, 3, "25%", "50%", "100%")),
        "surge": random.random() < 0.4,
        "ids": random.choice(("suffix", "stable", "address")),
        "order": random.choice(("shuffled", "sorted", "reversed", "spread")),
        "seed": random.randint(0, 3),
        "strategy": [name, params],
        "remove": random.random() < 0.5,
        "to": random.choice((1, 2, 3, 4, 4, 6, 9)),
        "brokers": random.choice(("*", "*", "broker-?", "*@*")),
        "detail": random.random() < 0.7,
        "assume_drained": random.random() < 0.3,
        "topic": random.choice(document["topics"])["name"],
        "broker": random.choice(
            [b["broker_name"] for t in document["topics"] for b in t["brokers"]] or ["broker-a"]
        ),
    }


def strategy_case(random):
    """The same with clients of several languages."""
    case = case_of(random)
    clusters.give_languages(random, case["snapshot"], alike=False)
    return case


def _fits(group, batch):
    return not isinstance(batch, int) or len(group.ids) >= batch


def _rolled(tally, kind, rollout, courses):
    """Compare steps, topics and totals of a rollout with those that there should be."""
    totals = by_key(rollout.totals, ("consumer_group",))
    steps = by_key(rollout.steps, ("consumer_group", "step"))
    topics = by_key(rollout.topics, ("consumer_group", "topic", "step"))
    tally.same(f"{kind} groups", "", {(name,) for name in courses}, set(totals))
    for name, (crew, course) in courses.items():
        rows = rolled.figures(course)
        for number, row in enumerate(rows):
            rolled.compare(tally, kind, (name, number), row, steps[name, number])
        of_topics = {
            unit.topic: rolled.figures(course, frozenset(unit.queues)) for unit in crew.units
        }
        for topic, mine in of_topics.items() if topics else ():
            for number, row in enumerate(mine):
                rolled.compare(
                    tally, f"{kind} topics", (name, topic, number), row, topics[name, topic, number]
                )
        for number, kinds in rolled.exposed_of(rollout.exposed, name).items():
            for exposure, n in kinds.items():
                most = steps[name, number]["unowned_written" if exposure == "unowned" else exposure]
                tally.same(f"{kind} exposed.{exposure}", (name, number), True, n <= most)
        rolled.compare(tally, f"{kind} totals", name, rolled.totals(rows), totals[name,])


def restart_all(case, tally):
    """A rolling restart."""
    groups = {
        name: one
        for name, one in advised.advised_groups(case["snapshot"]).items()
        if _fits(one, case["batch"])
    }
    if not groups or (case["surge"] and case["ids"] == "stable"):
        return
    how = {name: case[name] for name in ("batch", "surge", "ids", "order", "seed")}
    snapshot = from_document(case["snapshot"])
    made = restart(snapshot, list(groups), detail=case["detail"], **how)
    crews = rolled.crews(case["snapshot"], groups)
    _rolled(
        tally,
        "restart",
        made,
        {name: (crew, rolled.restart(crew, **how)) for name, crew in crews.items()},
    )


def strategy_all(case, tally):
    """A change of strategy, batch by batch."""
    groups = {
        name: one
        for name, one in advised.advised_groups(case["snapshot"]).items()
        if _fits(one, case["batch"])
    }
    if not groups:
        return
    how = {name: case[name] for name in ("batch", "order", "seed")}
    name, params = case["strategy"]
    made = change_strategy(
        from_document(case["snapshot"]), name, list(groups), params, detail=case["detail"], **how
    )
    rule, crews = java.rule_of(name, params), rolled.crews(case["snapshot"], groups)
    courses = {
        name: (crew, rolled.change_strategy(crew, rule, **how)) for name, crew in crews.items()
    }
    _rolled(tally, "strategy", made, courses)


def subscription_all(case, tally):
    """A topic that clients subscribe to or leave, batch by batch."""
    document = case["snapshot"]
    mine = [
        group
        for group in document["groups"]
        if (case["topic"] in group["subscriptions"]) == case["remove"]
    ]
    alone = [group | {"subscriptions": [case["topic"]]} for group in mine]
    groups = advised.advised_groups(document | {"groups": alone})
    groups = {name: one for name, one in groups.items() if _fits(one, case["batch"])}
    if not groups:
        return
    how = {name: case[name] for name in ("remove", "batch", "order", "seed")}
    made = change_subscription(
        from_document(document), case["topic"], list(groups), detail=case["detail"], **how
    )
    crews = rolled.crews(document, groups)
    courses = {
        name: (crew, rolled.change_subscription(crew, **how)) for name, crew in crews.items()
    }
    _rolled(tally, "subscription", made, courses)


def broker_all(case, tally):
    """Maintenance of a broker."""
    document, broker = case["snapshot"], case["broker"]
    holding = [
        topic["name"]
        for topic in document["topics"]
        if any(q[1] == broker for q in clusters.queues_of(topic))
    ]
    alone = [
        group | {"subscriptions": [one for one in group["subscriptions"] if one in holding]}
        for group in document["groups"]
    ]
    groups = advised.advised_groups(document | {"groups": alone})
    if not groups:
        return
    made = maintain_broker(from_document(document), broker, list(groups), detail=case["detail"])
    crews = rolled.crews(document, groups)
    _rolled(
        tally,
        "broker",
        made,
        {name: (crew, rolled.maintain_broker(crew, broker)) for name, crew in crews.items()},
    )


def queues_all(case, tally):
    """More or fewer queues of a topic."""
    document = case["snapshot"]
    [topic] = [topic for topic in document["topics"] if topic["name"] == case["topic"]]
    resize = rolled.Resize(topic, case["to"], case["brokers"])
    alone = [
        g | {"subscriptions": [topic["name"]]}
        for g in document["groups"]
        if topic["name"] in g["subscriptions"]
    ]
    groups = advised.advised_groups(document | {"topics": [resize.route], "groups": alone})
    if not groups:
        return
    how = {
        "brokers": [case["brokers"]],
        "assume_drained": case["assume_drained"],
        "detail": case["detail"],
    }
    try:
        made = resize_queues(
            from_document(document), topic["name"], case["to"], list(groups), **how
        )
    except ValueError as error:
        tally.same("queues refused as a whole", str(error), resize.wrong, True)
        return
    tally.same("queues refused as a whole", "", resize.wrong, False)
    for kind, expected in zip(
        ("unconsumed messages", "not known"),
        resize.refused(document, case["assume_drained"]),
        strict=True,
    ):
        lines = [line for line in made.refusals if f" {kind} in " in line]
        got = {
            re.search("group '(.*?)'", line)[1]: int(re.search(f"{kind} in (\\d+) queue", line)[1])
            for line in lines
        }
        tally.same(f"queues refused, {kind}", "", expected, got)
    crews = rolled.crews(document, groups)
    _rolled(
        tally, "queues", made, {name: (crew, resize.steps(crew)) for name, crew in crews.items()}
    )


# --- the best way to restart ---


def best_all(case, tally):
    """The moves of the ways that were tried, of one order, and that none moves less than the best."""
    groups = advised.advised_groups(case["snapshot"])
    if not groups:
        return
    how = {name: case[name] for name in ("ids", "seed")}
    ways = best_restart(from_document(case["snapshot"]), list(groups), **how).ways.to_pylist()
    for name, crew in rolled.crews(case["snapshot"], groups).items():
        mine = [way for way in ways if way["consumer_group"] == name]
        unread = min(way["max_unowned_after"] for way in mine)
        least = min(way["moved"] for way in mine if way["max_unowned_after"] == unread)
        best = mine[0]
        tally.same("best", name, [unread, least], [best["max_unowned_after"], best["moved"]])
        for way in mine:
            if way["order"] == case["order"]:
                place = name, way["batch"], way["surge"]
                steps = rolled.restart(crew, way["batch"], way["surge"], order=way["order"], **how)
                tally.same(
                    "best moves", place, rolled.moves_per_queue(steps), way["moved_per_queue"]
                )
