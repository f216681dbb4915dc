"""Random sequences of the client half."""

from random import Random
from typing import Any

from differential.compared_releases import Release

Event = dict[str, Any]

TOPICS = ("T", "U", "V")
BROKERS = ("a", "b")
GROUPS = ("g", "h")
IP = "10.0.0.1"
OTHERS = ["10.0.0.2@x", "10.0.0.3@x", "10.0.0.1@w", "10.0.0.10@x"]
TIMES = [
    0,
    10,
    500,
    500,
    1_000,
    1_000,
    3_000,
    10_000,
    19_000,
    20_000,
    20_001,
    30_001,
    60_000,
    121_000,
]
WHERE = (
    ["LAST_OFFSET"] * 4 + ["FIRST_OFFSET"] * 2 + ["TIMESTAMP"] * 2 + ["MIN_OFFSET", "MAX_OFFSET"]
)
STRATEGIES = (
    ["AVG"] * 5 + ["AVG_BY_CIRCLE"] * 2 + ["CONSISTENT_HASH", "CONFIG", "THROWS", "NULL", "ALL"]
)
CODES = (1, 2, 16, 17, 22, 26)
MODELS = ["CLUSTERING"] * 5 + ["BROADCASTING"]


def sequence(rng: Random, release: Release, short: bool) -> dict[str, Any]:
    """A configuration, and events."""
    maker = Maker(rng, release)
    return {
        "config": maker.config(),
        "events": maker.events(rng.randint(5, 22) if short else rng.randint(20, 60)),
    }


class Maker:
    """Makes one sequence."""

    def __init__(self, rng: Random, release: Release) -> None:
        self.rng = rng
        self.release = release
        n_consumers = rng.choice([1, 1, 1, 2, 2, 3])
        # Java's fingerprint of several groups is another one whenever it is taken: it depends on
        # where they are in memory.
        self.second_form = n_consumers == 1 and rng.random() < 0.5
        self.consumers = {f"c{i}": self._consumer() for i in range(n_consumers)}
        self.gives_up = rng.random() < 0.25
        if self.gives_up:
            spec = {
                "type": "push",
                "model": "CLUSTERING",
                "orderly": True,
                "strategy": "AVG",
                "topics": ["T"],
                "assigned": [],
            }
            self.consumers = {"c0": self._consumer() | spec | {"from": "CONSUME_FROM_FIRST_OFFSET"}}
        identities: dict[Any, str] = {}
        for name, spec in self.consumers.items():
            identities.setdefault((spec["group"], spec["instance"], spec["type"] == "push"), name)
        self.names = list(
            identities.values()
        )  # the second of a group in one client fails to start and stays as it is

    def config(self) -> dict[str, Any]:
        """Consumers that may start, and what is answered from the beginning on."""
        answers = [self._route(topic) for topic in TOPICS] + [
            self._clients(group) for group in GROUPS
        ]
        answers += [self._assignment(topic, group) for topic in TOPICS for group in GROUPS]
        if self.rng.random() < 0.5:
            answers += [self._route(f"%RETRY%{group}") for group in GROUPS]
        answers += [self._stored() for _ in range(self.rng.randrange(4))]
        if self.second_form:
            answers += [self._heard(f"{name}:{number}") for name in BROKERS for number in (0, 1)]
        return {"seed": self.rng.randrange(2**31), "consumers": self.consumers, "answers": answers}

    def events(self, count: int) -> list[Event]:
        """What happens."""
        events = [{"kind": "start", "consumer": name} for name in self.consumers]
        if self.gives_up:
            events.append({"kind": "advance", "ms": self.rng.choice([500, 1_000])})
        for _ in range(count):
            events.append(
                self._giving_up() if self.gives_up and self.rng.random() < 0.8 else self._event()
            )
        if self.gives_up:
            for _ in range(3):
                at = self.rng.randrange(len(self.consumers) + 1, len(events) + 1)
                events[at:at] = self._given_up_while_consumed()
        return events

    def _given_up_while_consumed(self) -> list[Event]:
        """Queues are taken, one is consumed for about as long as whoever gives it up waits, or for
        longer, and all go.
        """
        wait = 1_000 if self.release.line == "4.9" else 500
        key, own = self.consumers["c0"]["group"], f"{IP}@{self.consumers['c0']['instance']}"
        taken, gone = (
            {
                "kind": "answer",
                "what": "clients",
                "key": key,
                "answer": {"body": {"consumerIdList": [one]}},
            }
            for one in (own, OTHERS[0])
        )
        one_pass = {"kind": "pass", "consumer": "c0"}
        consuming = {"kind": "consuming", "consumer": "c0", "queue": f"#{self.rng.randrange(4)}"}
        if self.rng.random() < 0.5:
            consuming["for"] = wait + self.rng.choice([-1, 0, 0, 1])
            return [taken, one_pass, consuming, gone, one_pass]
        consuming["for"] = None
        # The wait of the first pass is over when the second comes, 20 s after the lock.
        until_forced = {"kind": "advance", "ms": 20_000 - wait + self.rng.choice([0, 0, 1])}
        locked = {"kind": "lock all", "consumer": "c0"}
        return [taken, one_pass, locked, consuming, gone, one_pass, until_forced, one_pass]

    def _giving_up(self) -> Event:
        """Something that matters where ordered queues are given up while they are consumed."""
        rng, of = self.rng, {"consumer": "c0", "queue": f"#{self.rng.randrange(4)}"}
        kind = self._pick(
            {
                "consuming": 4,
                "clients": 4,
                "pass": 4,
                "advance": 3,
                "consumed": 1,
                "messages": 1,
                "lock all": 1,
            }
        )
        if kind == "clients":
            own = f"{IP}@{self.consumers['c0']['instance']}"
            answer = {
                "body": {
                    "consumerIdList": rng.choice([[own], [own], OTHERS[:1], [own, *OTHERS[:2]]])
                }
            }
            return {
                "kind": "answer",
                "what": "clients",
                "key": self.consumers["c0"]["group"],
                "answer": answer,
            }
        if kind == "advance":
            return {
                "kind": "advance",
                "ms": rng.choice([500, 1_000, 1_000, 19_000, 20_000, 20_001, 22_000, 25_000]),
            }
        if kind in ("pass", "lock all"):
            return {"kind": kind, "consumer": "c0"}
        times = [None, None, None, None, 100, 500, 500, 501, 1_000, 1_000, 1_001]
        return (
            of
            | {"kind": kind}
            | {"consuming": {"for": rng.choice(times)}, "messages": {"n": 1}}.get(kind, {})
        )

    def _pick(self, weights: dict[str, int]) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    # --- The configuration ---

    def _consumer(self) -> dict[str, Any]:
        rng = self.rng
        kind = self._pick({"push": 6, "pull": 2, "lite": 3})
        orderly = kind == "push" and rng.random() < 0.5
        hears = rng.choice([None, "hears", "hears", "throws"])
        if kind == "lite" and self.release.line == "4.9":
            hears = None  # it takes none there
        chosen = kind == "lite" and rng.random() < 0.3
        return {
            "type": kind,
            "group": rng.choice(GROUPS),
            "ip": IP,
            "heartbeat v2": self.second_form,
            "instance": rng.choice("xxxy"),
            "model": rng.choice(MODELS),
            "from": "CONSUME_FROM_" + rng.choice(WHERE if kind == "push" else WHERE[:-2]),
            "timestamp": rng.choice(["20231114000000", "20231101123456"]),
            "orderly": orderly,
            "client rebalance": rng.random() < 0.7,
            "listener": hears,
            "strategy": rng.choice(STRATEGIES),
            "given": [self._queue() for _ in range(rng.randrange(4))],
            "thresholds": rng.choice([[1000, 100, -1, -1], [1000, 100, 10, 7], [2, 1, 3, -1]]),
            "topics": [] if chosen else rng.sample(TOPICS, rng.choice([1, 1, 2, 3])),
            "assigned": [self._queue() for _ in range(rng.randrange(1, 4))] if chosen else [],
        }

    def _topic(self) -> str:
        topics = (*TOPICS, *TOPICS, *(f"%RETRY%{group}" for group in GROUPS))
        return self.rng.choice(topics)

    def _queue(self) -> str:
        return (
            f"{self._topic()}|{self.rng.choice(BROKERS)}|{self.rng.choice([0, 0, 0, 1, 1, 2, 3])}"
        )

    def _address(self) -> str:
        return self.rng.choice(["a:0", "a:0", "b:0", "b:0", "a:1", "b:1"])

    # --- Answers ---

    def _route(self, topic: str | None = None) -> Event:
        topic = topic or self._topic()
        rng = self.rng
        kind = self._pick({"route": 12, "empty": 1, "code": 1, "lost": 1})
        if kind == "code":
            answer: Any = {"code": rng.choice((17, 17, 1))}
        elif kind == "lost":
            answer = {"lost": True}
        else:
            answer = {"body": self._route_body(kind == "empty")}
        return {"kind": "answer", "what": "route", "key": topic, "answer": answer}

    def _route_body(self, empty: bool) -> dict[str, Any]:
        rng = self.rng
        names = rng.sample(BROKERS, rng.choice([1, 1, 2]))
        queues = [
            {
                "brokerName": name,
                "readQueueNums": 0 if empty else rng.choice([1, 1, 2, 3, 4]),
                "writeQueueNums": rng.choice([1, 4]),
                "perm": rng.choice([6, 6, 6, 6, 4, 2]),
                "topicSysFlag": 0,
            }
            for name in names
        ]
        brokers = []
        for name in names:
            ids = rng.choice([[0], [0], [0, 1], [1]])
            addresses = {str(number): f"{name}:{number}" for number in ids}
            brokers.append({"brokerName": name, "cluster": "c", "brokerAddrs": addresses})
        body: dict[str, Any] = {"queueDatas": queues, "brokerDatas": brokers}
        if self.release.line != "4.9" and rng.random() < 0.1 and not empty:
            body["topicQueueMappingByBroker"] = self._mapping(names)
        return body

    def _mapping(self, names: list[str]) -> dict[str, Any]:
        """Logical queues of a static topic; some belong to nobody, some to two brokers."""
        rng = self.rng
        total = rng.randrange(1, 5)
        mapping = {}
        for epoch, name in enumerate(names):
            held = rng.sample(range(total), rng.randrange(total + 1))
            info = {"bname": name, "scope": "__global__", "totalQueues": total, "epoch": epoch}
            mapping[name] = info | {"currIdMap": {str(logical): logical for logical in held}}
        return mapping

    def _clients(self, group: str | None = None) -> Event:
        rng = self.rng
        kind = self._pick(
            {"list": 12, "null": 1, "none": 1, "code": 1, "lost": 1, "holes": 1, "strangers": 1}
        )
        ids: list[Any] = rng.sample(OTHERS, rng.randrange(4))
        if kind == "null":
            answer: Any = {"body": {"consumerIdList": None}}
        elif kind == "code":
            answer = {"code": rng.choice(CODES)}
        elif kind == "lost":
            answer = {"lost": True}
        else:
            if kind in ("list", "holes"):
                ids += [f"{IP}@x", f"{IP}@y", f"{IP}@x@STREAM", f"{IP}@y@STREAM"]
            if kind == "holes":
                ids.append(rng.choice([None, "", f"{IP}@x", *OTHERS]))
            if kind == "none":
                ids = []
            rng.shuffle(ids)
            answer = {"body": {"consumerIdList": ids}}
        return {
            "kind": "answer",
            "what": "clients",
            "key": group or rng.choice(GROUPS),
            "answer": answer,
        }

    def _assignment(self, topic: str | None = None, group: str | None = None) -> Event:
        rng = self.rng
        topic = topic or self._topic()
        kind = self._pick({"list": 8, "null": 1, "empty": 1, "code": 1, "lost": 1})
        answer: Any = {"code": rng.choice(CODES)} if kind == "code" else {"lost": True}
        if kind in ("null", "empty"):
            answer = {"body": {"messageQueueAssignments": None if kind == "null" else []}}
        if kind == "list":
            modes = rng.choice([["PULL"], ["POP"], ["POP"], ["PULL", "POP"]])
            found = {}
            for _ in range(rng.randrange(1, 5)):
                queue = {
                    "topic": topic,
                    "brokerName": rng.choice(BROKERS),
                    "queueId": rng.choice([-1, 0, 0, 1, 2]),
                }
                found[str(queue)] = {"messageQueue": queue, "mode": rng.choice(modes)}
            if rng.random() < 0.1:
                found[""] = {"messageQueue": None, "mode": "PULL"}
            answer = {"body": {"messageQueueAssignments": list(found.values())}}
        key = f"{topic} {group or rng.choice(GROUPS)}"
        return {"kind": "answer", "what": "assignment", "key": key, "answer": answer}

    def _offset(self) -> Any:
        kind = self._pick({"offset": 8, "code": 4, "lost": 1})
        if kind == "offset":
            return {"offset": self.rng.choice([0, 7, 7, 42, 42, 10**12, -1, -5])}
        return {"code": self.rng.choice(CODES)} if kind == "code" else {"lost": True}

    def _stored(self) -> Event:
        key = f"{self.rng.choice(GROUPS)} {self._queue()}"
        return {"kind": "answer", "what": "stored", "key": key, "answer": self._offset()}

    def _heard(self, address: str) -> Event:
        """What a broker says to heartbeats: whether it keeps fingerprints, and whether
        subscriptions have changed.
        """
        said = self.rng.choice([[True, False]] * 3 + [[True, True], [False, False]])
        return {"kind": "answer", "what": "heartbeat", "key": address, "answer": {"v2": said}}

    def _answer(self) -> Event:
        rng = self.rng
        if self.second_form and rng.random() < 0.15:
            return self._heard(self._address())
        what = self._pick(
            {
                "route": 3,
                "clients": 5,
                "assignment": 3,
                "stored": 3,
                "first": 2,
                "lock": 4,
                "other": 2,
                "down": 1,
            }
        )
        if what == "route":
            return self._route()
        if what == "clients":
            return self._clients()
        if what == "assignment":
            return self._assignment()
        if what == "stored":
            return self._stored()
        answer: Any = rng.choice([{}, {}, {"code": rng.choice(CODES)}, {"lost": True}])
        key = self._address()
        if what == "first":
            what, key, answer = rng.choice(["max", "search"]), self._queue(), self._offset()
        elif what == "lock":
            refused = [self._queue() for _ in range(rng.randrange(1, 5))]
            extra = [self._queue() for _ in range(rng.randrange(3))]
            none: Any = {"refuses all": True}
            answer = rng.choice(
                [answer, none, none, {"refused": refused}, {"refused": refused, "extra": extra}]
            )
        elif what == "other":
            what = rng.choice(["heartbeat", "unregister", "commit", "unlock"])
        else:
            answer = rng.choice([{}, {"lost": True}])
        return {"kind": "answer", "what": what, "key": key, "answer": answer}

    # --- Events ---

    def _event(self) -> Event:
        kind = self._pick(
            {"answer": 8, "time": 7, "pass": 5, "consumer": 4, "queue": 8, "offset": 4, "end": 1}
        )
        if kind == "answer":
            return self._answer()
        if kind == "time":
            return {"kind": "advance", "ms": self.rng.choice(TIMES)}
        name = self.rng.choice(self.names)
        if kind == "pass":
            return {"kind": self.rng.choice(["pass", "pass", "try", "notice"]), "consumer": name}
        if kind == "end":
            return (
                {"kind": "shutdown", "consumer": name} if self.rng.random() < 0.5 else self._event()
            )
        spec = self.consumers[name]
        if kind == "consumer":
            return {"consumer": name} | self._of_consumer(spec)
        queue = f"#{self.rng.randrange(6)}" if self.rng.random() < 0.7 else self._queue()
        return {"consumer": name, "queue": queue} | (
            self._of_queue(spec) if kind == "queue" else self._of_offset()
        )

    def _of_consumer(self, spec: dict[str, Any]) -> Event:
        rng = self.rng
        kinds = ["subscribe", "unsubscribe", "persist", "persist all", "active"]
        if spec["type"] == "push":
            kinds += [
                "pause",
                "resume",
                "resume",
                "from where",
                "lock all",
                "lock all",
                "unlock all",
            ]
        if spec["type"] == "lite":
            kinds += ["assign", "pause queues", "resume queues"]
        kind = rng.choice(kinds)
        event: Event = {"kind": kind}
        if kind in ("subscribe", "unsubscribe"):
            event["topic"] = rng.choice(TOPICS)
        elif kind == "active":
            event["address"] = self._address()
        elif kind == "unlock all":
            event["oneway"] = rng.random() < 0.5
        elif kind == "from where":
            event["where"] = "CONSUME_FROM_" + rng.choice(WHERE)
        elif kind in ("assign", "pause queues", "resume queues"):
            event["queues"] = [self._queue() for _ in range(rng.randrange(4))]
        return event

    def _of_queue(self, spec: dict[str, Any]) -> Event:
        rng = self.rng
        kinds = ["lock", "unlock", "remove", "compute", "compute swallowing"]
        if spec["type"] == "push":
            kinds += ["pull"] * 4 + ["pop"] + ["messages", "no messages"]
            if spec["orderly"]:
                kinds += ["consuming"] * 3 + ["consumed", "lock later"]
        kind = rng.choice(kinds)
        event: Event = {"kind": kind}
        if kind == "unlock":
            event["oneway"] = rng.random() < 0.5
        elif kind == "consuming":
            event["for"] = rng.choice([None, None, 100, 500, 501, 700, 1_000, 1_500])
        elif kind == "messages":
            event["n"] = rng.choice([1, 3])
        return event

    def _of_offset(self) -> Event:
        rng = self.rng
        kinds = ["update offset"] * 3 + ["read offset", "remove offset", "persist offset"]
        kind = rng.choice(kinds + ["freeze offset"] * (self.release.line != "4.9"))
        event: Event = {"kind": kind}
        if kind in ("update offset", "freeze offset"):
            event["offset"] = rng.choice([0, 5, 43, 10**12])
        if kind == "update offset":
            event["increase"] = rng.random() < 0.5
        elif kind == "read offset":
            event["from"] = rng.choice(
                ["READ_FROM_MEMORY", "READ_FROM_STORE", "MEMORY_FIRST_THEN_STORE"]
            )
        return event
