"""A plan beside what it should say to the letter: its four tables in order, column by column, and
its ways back.
"""

from bruteforce import mixed, planned
from bruteforce.java import utf16
from bruteforce.tables import KEYS, compared, of_scenario, tables, without_present
from bruteforce.tally import Tally
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.plain_data import to_document


def computed(snapshot):
    """States of all units by what their clients compute, whatever they report."""
    units = list(mixed.units_of(to_document(snapshot)))
    return [
        mixed.state_of(unit, planned.rooms_known([one.main for one in units])) for unit in units
    ]


def checked(snapshot, scenarios):
    """Plan, and return the plan with what differs from what it should say."""
    made, document, tally = plan_snapshot(snapshot, scenarios), to_document(snapshot), Tally()
    data = made.to_dict()
    before = mixed.current(list(mixed.units_of(document)), document)
    rows = {kind: getattr(made, kind).to_pylist() for kind in KEYS}
    for scenario in ({"name": "current", "changes": []}, *data["scenarios"]):
        expected = tables(before, mixed.behind(before, scenario), document)
        if scenario["name"] == "current":
            without_present(expected, document)
        compared(
            tally,
            scenario["name"],
            expected,
            {kind: of_scenario(rows[kind], scenario["name"]) for kind in KEYS},
        )
    names = [one["name"] for one in data["scenarios"]]
    units = [
        (state.unit.main.group, state.unit.main.topic, name)
        for state in before
        for name in ("current", *names)
    ]
    got = [(row["consumer_group"], row["topic"], row["scenario"]) for row in rows["units"]]
    tally.same("units of every scenario", "", units, got)
    tally.same("undo of every scenario", "", names, list(data["undo"]))
    for scenario in data["scenarios"]:
        for state in before:
            _go_back(tally, state.unit, scenario, data["undo"][scenario["name"]])
    return made, list(map(str, tally.differences))


# --- Ways back ---


def _go_back(tally, unit, scenario, ways):
    """Each way back leads to the unit before, and there is one where something changes."""
    where = scenario["name"], unit.main.group, unit.main.topic
    mine = [
        one
        for one in ways
        if unit.main.group in one["groups"]
        and unit.main.topic in one.get("topics", [unit.main.topic])
    ]
    goal, there = Views.of(unit), Views.of(unit).after(scenario)
    # What is changed and not in use may be restored as well.
    least = int(there.in_use() != goal.in_use())
    tally.same("ways back", where, max(least, min(len(mine), 1)), len(mine))
    for one in mine:
        tally.same("changes or a reason", where, 1, len({"changes", "reason"} & one.keys()))
        if "changes" in one:
            tally.same(
                "way back", where, goal.in_use(), there.after({"changes": one["changes"]}).in_use()
            )
        else:
            tally.same("reason", where, False, goal.can_go_back())


class Views:
    """A unit as the brokers have it, as each client that reads it has it, and the lists of clients."""

    def __init__(self, unit, each, lists):
        self.unit, self.each, self.lists = unit, each, lists

    @classmethod
    def of(cls, unit):
        return cls(
            unit,
            [
                one
                for one, slot in zip(mixed.alone(unit, {"changes": []}), unit.slots, strict=True)
                if slot.reads
            ],
            unit.lists,
        )

    def after(self, scenario):
        unit = mixed.changed(self.unit, scenario)
        if self.unit.is_read_by_all:
            scenario = mixed.without_strategies(scenario)
        scenario = mixed.in_rooms(scenario, self.unit.main)
        return Views(unit, [planned.changed(one, scenario) for one in self.each], unit.lists)

    def in_use(self):
        """What counts: brokers without queues make no difference."""
        rules = [(_brokers(one), one.rule) for one in (self.unit.main, *self.each)]
        return [self.unit.main.clients, rules, [sorted(ids, key=utf16) for ids in self.lists]]

    def can_go_back(self):
        """Whether some changes surely lead back: it has one view, of distinct clients, and a
        strategy that can be set.
        """
        main, ids = self.unit.main, self.unit.main.ids
        one_view = all(
            (_brokers(one), *one[4:]) == (_brokers(main), *main[4:]) for one in self.each
        )
        return (
            one_view
            and [sorted(one, key=utf16) for one in self.lists] == [ids]
            and len(set(ids)) == len(ids)
            and main.rule["name"] != "CONFIG"
        )


def _brokers(unit):
    return sorted(
        ((name, len(ids), room) for name, ids, room in unit.brokers if ids),
        key=lambda one: utf16(one[0]),
    )
