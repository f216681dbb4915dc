"""The medians of the benchmarks: every quick ratio has one, and what is slower fails."""

from commands.__main__ import quick_heats
from commands.medians import LIMIT, TIMES, committed_for, measured, read, slower, table

SLOW, GOOD = "a over b: 10 units", "c over d: 10 units"
COMMITTED = {SLOW: 2.0, GOOD: 4.0}


class Heat:
    """Ratios that are given, one after the other."""

    def __init__(self, **ratios):
        self.given = {SLOW: ratios["slow"], GOOD: ratios["good"]}
        self.asked = []

    def names(self):
        return list(self.given)

    def ratios(self, names):
        self.asked.append(sorted(names))
        return {name: self.given[name].pop(0) for name in names}


def test_a_ratio_that_is_slower_three_times_in_a_row_fails():
    heat = Heat(slow=[2.6, 4.0, 2.7], good=[5.1])
    found = measured([heat], COMMITTED)
    assert heat.asked == [[SLOW, GOOD], [SLOW], [SLOW]] and (LIMIT, TIMES) == (1.3, 3)
    assert slower(found, COMMITTED) == [
        f"slower: {SLOW}: 2.60, 4.00, 2.70 in 3 measurements, "
        "each at least 1.3 times the committed median, 2.00"
    ]
    assert f"| {SLOW} | 2.70 | 2.00 | 1.35 |" in table(found, COMMITTED)


def test_the_first_measurement_below_the_limit_ends_it():
    for slow in ([2.59], [9.0, 2.59], [9.0, 9.0, 2.59]):
        heat = Heat(slow=[*slow], good=[4.0])
        found = measured([heat], COMMITTED)
        assert found[SLOW] == slow and slower(found, COMMITTED) == []


def test_a_committed_median_that_is_halved_fails():
    halved = {name: ratio / 2 for name, ratio in COMMITTED.items()}
    for committed, failing in ((COMMITTED, 0), (halved, 2)):
        found = measured([Heat(slow=[2.0] * TIMES, good=[4.0] * TIMES)], committed)
        assert len(slower(found, committed)) == failing


def test_a_ratio_without_a_median_is_printed_and_not_judged():
    found = measured([Heat(slow=[99.0], good=[4.0])], {GOOD: 4.0})
    assert slower(found, {GOOD: 4.0}) == []
    assert f"| {SLOW} | 99.00 | – | not judged |" in table(found, {GOOD: 4.0})


def test_another_processor_is_judged_by_the_largest_median_and_not_by_kernels():
    kernel = "AVG over out.fill: 64 groups"
    medians = {"A": {SLOW: 2.0, kernel: 1.5}, "B": {SLOW: 3.0}, "C": {SLOW: 1.0}}
    assert committed_for(medians, "A") == {SLOW: 2.0, kernel: 1.5}
    assert committed_for(medians, "D") == {SLOW: 3.0}


def test_every_quick_ratio_has_a_median(tmp_path):
    names = {name for heat in quick_heats(tmp_path) for name in heat.names()}
    commands = {name for name in names if "out.fill" not in name}
    assert len(names) > len(commands) > 20
    medians = read()
    assert medians
    for cpu, of in medians.items():
        assert {name for name in of if "out.fill" not in name} == commands, f"make medians: {cpu}"
