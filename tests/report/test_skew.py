"""A skew has two digits wherever people read it, and all of them where programs do."""

import io
import json
import re

import pyarrow as pa
import pytest
from pyarrow import parquet

import rmqalloc
from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.report import write_table
from rmqalloc.report.html import report
from rmqalloc.results.renderer import skew_text, skews_apart
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

SKEWS = [1.0, 4 / 3, 12.3456, None]
TABLE = pa.table({"group": list("abcd"), "skew": SKEWS, "chance_skew": SKEWS, "share": SKEWS})


def written(output):
    file = io.BytesIO() if output == "parquet" else io.StringIO()
    write_table(TABLE, output, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("output", "cell"),
    [("table", r"\s{}\b"), ("wide", r"\s{}\b"), ("md", r"\| {} \|"), ("html", ">{}<")],
)
def test_people_read_two_digits(output, cell):
    text = written(output)
    for skew in ("1.00", "1.33", "12.35"):
        assert len(re.findall(cell.format(re.escape(skew)), re.sub(r"\|", "||", text))) >= 2, (
            skew,
            text,
        )
    assert not re.search(r"1\.0000|1\.333\d", re.sub(r'data-v=".*?"', "", text))


def test_other_figures_keep_their_digits():
    assert "1.333" in written("table") and "1.333" in written("md")


@pytest.mark.parametrize("output", ["json", "jsonl", "csv", "yaml"])
def test_programs_read_all_digits(output):
    assert written(output).count(repr(4 / 3)) == 3
    assert written(output).count("12.3456") == 3
    assert parquet.read_table(io.BytesIO(written("parquet")))["skew"].to_pylist() == SKEWS


def uneven():
    """4 queues for 3 clients, and for 5: skews of 4/3 and 1.25."""
    clients = tuple(Client(f"c{i}") for i in range(3))
    groups = tuple(Group(name, ("t",), clients, strategy="AVG") for name in "abcd")
    return Snapshot((Topic("t", (TopicBroker("b", 4),)),), groups)


def test_plans_and_comparisons_say_the_same_skew_in_every_form():
    plan = plan_snapshot(uneven(), [{"name": "s", "changes": [{"scale_clients": {"to": 5}}]}])
    assert plan.groups["skew"].to_pylist() == [1.5] * 4 + [1.25] * 4
    page = re.sub(r'data-v=".*?"', "", report(plan))
    assert "1.50 → 1.25" in str(plan) and "1.50 → 1.25" in page
    assert not re.search(r">1\.5[ <]|→ 1\.5<", page)
    assert ">1.25<" in plan._repr_html_()
    assert re.search(r"\b1\.50\b", str(rmqalloc.compare(uneven(), ["AVG_BY_CIRCLE"])))
    assert (
        json.loads(json.dumps(plan.to_dict()))["tables"]["groups"]["skew"] == [1.5] * 4 + [1.25] * 4
    )


def test_a_gate_says_as_many_digits_as_tell_the_skew_from_its_bound():
    plan = plan_snapshot(uneven(), [{"name": "s", "changes": [{"scale_clients": {"to": 3}}]}])
    for bound, said in ((1.2, "1.50"), (1.499, "1.500"), (1.4999, "1.5000")):
        [first, *_] = Gates(max_skew=bound).broken(plan)
        assert first.text == f"the skew is {said}; the limit is {bound:g}"
    assert Gates(max_skew=1.5).broken(plan) == ()


def test_skews_that_differ_are_told_apart():
    for less, more in ((1.0, 1.01), (1.251, 1.2536), (1.0, 1.0 + 1e-9), (99.999, 100.0)):
        one, other = skews_apart(less, more)
        assert one != other and float(one) < float(other)
    assert (
        skew_text(1.005) == "1.00" and skew_text(0.0) == "0.00" and skew_text(float("nan")) == "nan"
    )
