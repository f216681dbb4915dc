"""Conditions on rows: what holds, what null does, and what is said of a condition that cannot be
read.
"""

import pyarrow as pa
import pytest

from rmqalloc.audit import SEVERITIES
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.evidence.evidence import STRENGTHS
from rmqalloc.history.history_events import EVENTS
from rmqalloc.results.where import ENUMERATIONS, Condition, WhereError, rows_where
from rmqalloc.rollouts.schedule import ORDERS
from rmqalloc.snapshot.unknown import KINDS

TABLE = pa.table({
    "name": ["a", "order-1", None, "order-2"],
    "idle": pa.array([0, 2, None, 10], pa.int64()),
    "skew": [1.0, None, 2.5, 1.25],
    "is_idle": [True, False, None, True],
    "owners": [["c1"], [], None, ["c1", "c2"]],
    "time": ["2026-11-20T09:30:00.000Z", None, "2026-11-21T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
    "pair": [{"x": 1}] * 4,
})  # fmt: skip


def places(*conditions):
    table = TABLE.append_column("place", pa.array(range(TABLE.num_rows)))
    return rows_where(table, conditions)["place"].to_pylist()


@pytest.mark.parametrize(("condition", "found"), [
    ("idle>0", [1, 3]), ("idle > 0", [1, 3]), ("idle>=2.5", [3]), ("idle<3", [0, 1]), ("idle<=0", [0]),
    ("idle=2", [1]), ("idle!=2", [0, 3]), ("idle=null", [2]), ("idle!=null", [0, 1, 3]), ("idle<-1", []),
    ("idle<99999999999999999999", [0, 1, 3]), ("skew>1.2", [2, 3]), ("skew=1", [0]),
    ("name=a", [0]), ("name!=a", [1, 3]), ("name~order-*", [1, 3]), ("name~*", [0, 1, 3]), ("name~[!a]*", [1, 3]),
    ("name=null", [2]), ("name= a ", [0]), ("name=", []),
    ("is_idle=yes", [0, 3]), ("is_idle=No", [1]), ("is_idle!=true", [1]), ("is_idle=null", [2]),
    ("owners=c1", [0, 3]), ("owners~c*", [0, 3]), ("owners!=c2", [0, 1]), ("owners=null", [2]), ("owners!=null", [0, 1, 3]),
    ("time<2026-12-01", [0, 2]), ("time>=2026-11-21", [2, 3]),
])  # fmt: skip
def test_a_condition_holds_for_these_rows(condition, found):
    assert places(condition) == found


def test_all_conditions_must_hold():
    assert places("idle>0", "name~*-2") == [3]
    assert places("idle>0", "owners=c9") == []
    assert places() == [0, 1, 2, 3]


def test_sliced_and_chunked_tables_are_read_as_they_are():
    table = pa.concat_tables([TABLE.slice(2), TABLE.slice(0, 2)])
    assert rows_where(table.slice(1), ["owners=c1"])["name"].to_pylist() == ["order-2", "a"]


@pytest.mark.parametrize(("condition", "said"), [
    pytest.param("idle",
                 "'idle' is not a condition: give NAME, an operator (= != < <= > >= ~) and a value, "
                 "in quotes, such as 'idle>0'",
                 id="idle"),
    (">0", "is not a condition"),
    ("a+b=1", "is not a condition"),
    pytest.param("idel>0",
                 "there is no column 'idel'; there are name, idle, skew, is_idle, owners, time, pair; did you mean idle?",
                 id="idel>0"),
    ("idle>many", "idle holds numbers, got 'many' in 'idle>many'"),
    ("skew=nan", "skew holds numbers, got 'nan'"),
    ("idle<inf", "idle holds numbers, got 'inf'"),
    ("idle=", "idle holds numbers, got ''"),
    ("idle>null", "idle holds numbers, got 'null'"),
    ("idle~1*", "idle holds numbers, and ~ compares texts with a pattern, got 'idle~1*'"),
    ("is_idle>no", "is_idle is yes or no, so it takes =yes or =no, got 'is_idle>no'"),
    ("is_idle=maybe", "is_idle is yes or no"),
    ("pair=1", "pair holds struct<x: int64>, which no condition compares"),
])  # fmt: skip
def test_what_cannot_be_read_says_why(condition, said):
    with pytest.raises(WhereError) as raised:
        rows_where(TABLE, [condition])
    assert said in str(raised.value)


def test_a_condition_is_read_from_left_to_right():
    assert Condition.of("topic=a>=b") == ("topic", "=", "a>=b")
    assert str(Condition.of("a >= b")) == "a>=b"


def test_a_value_that_a_column_never_has_is_refused():
    table = pa.table({"severity": ["error", "note"]})
    assert rows_where(table, ["severity!=note"]).num_rows == 1
    assert rows_where(table, ["severity=warning"]).num_rows == 0
    with pytest.raises(WhereError, match="error, warning, note, got 'eror'; did you mean error"):
        rows_where(table, ["severity=eror"])
    assert rows_where(table, ["severity~e*"]).num_rows == 1


def test_the_values_of_columns_are_those_of_the_product():
    assert ENUMERATIONS["severity"] == tuple(SEVERITIES)
    assert set(ENUMERATIONS["state"]) == {reason.state for reason in REASONS.values()}
    assert set(ENUMERATIONS["strategy_source"]) == set(STRENGTHS)
    assert ENUMERATIONS["event"] == EVENTS
    assert ENUMERATIONS["not_known"] == KINDS
    assert ENUMERATIONS["order"] == ORDERS
