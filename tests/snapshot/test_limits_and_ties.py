"""Numbers at the ends of what a reader of snapshots takes, pages without bytes, fleets of nothing."""

import asyncio
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from rmqalloc.remoting import RemotingError
from rmqalloc.remoting.body_fields import AnswerError, whole_of
from rmqalloc.snapshot.files._parquet_pages import Page, PageError, _of_column, pages
from rmqalloc.snapshot.live._answers import lags
from rmqalloc.snapshot.live._take import ClusterReader
from rmqalloc.snapshot.synthetic import synthetic_fleet, write_fleet

LONG = 2**63


@pytest.mark.parametrize(("least", "end"), [(0, 5), (-LONG, LONG)])
@pytest.mark.parametrize("kind", [int, str])
def test_a_number_of_an_answer_is_taken_from_the_least_to_below_the_end(least, end, kind):
    for number in (least, 0, end - 1):
        assert whole_of(kind(number), least, end) == number
    for number in (least - 1, end):
        with pytest.raises(AnswerError, match="a number from"):
            whole_of(kind(number), least, end)


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [(0, True), (2.0**62, True), (-(2.0**62), True), (LONG, False), (-LONG, False)],
)
def test_a_rate_is_below_what_a_long_holds(given, is_taken):
    body = {"offsetTable": {}, "consumeTps": given}
    if is_taken:
        assert lags(body) == ([], float(given))
    else:
        with pytest.raises(AnswerError, match="consumeTps"):
            lags(body)


def header(unpacked, packed):
    """A page's header as Parquet has it: kind 0 and two sizes, as zigzag numbers of one byte."""
    return bytes([0x15, 0, 0x15, unpacked * 2, 0x15, packed * 2, 0])


def test_a_page_may_hold_nothing_and_end_with_the_file():
    data = header(0, 0) + header(3, 1) + b"x"
    assert list(_of_column(data, 0, len(data))) == [Page(0, False), Page(3, False)]
    assert list(_of_column(data, len(data), len(data))) == []
    with pytest.raises(PageError, match="outside of the file"):
        list(_of_column(data, 0, len(data) + 1))


def test_row_groups_that_are_a_number_are_damage():
    footer = bytes([0x45, 2, 0])  # of field 4, where a list of structs should be
    with pytest.raises(PageError, match="the footer is damaged"):
        list(pages(footer + len(footer).to_bytes(4, "little") + b"PAR1"))


def test_a_synthetic_fleet_may_have_no_unit_and_one_file(tmp_path):
    assert list(synthetic_fleet(0, 0, 1)) == []
    assert [batch.num_rows for batch in synthetic_fleet(2, 0, 1)] == [1, 1]
    for wrong in ((-1, 0, 1), (0, -1, 1), (0, 0, 0)):
        with pytest.raises(ValueError, match="0 or more"):
            synthetic_fleet(*wrong)
    write_fleet(tmp_path / "fleet", 3, 0, 1)
    assert [file.name for file in sorted((tmp_path / "fleet").glob("*.parquet"))] == [
        "part-00000.parquet"
    ]
    assert pq.read_table(tmp_path / "fleet").num_rows == 3
    with pytest.raises(ValueError, match="at least one file"):
        write_fleet(tmp_path / "none", 3, 0, 0)


def test_each_request_counts_once_whether_it_is_answered_or_not():
    seen = []
    taker = SimpleNamespace(
        _known=0, _answered=0, errors=[], on_progress=lambda *counts: seen.append(counts)
    )

    async def right():
        return 1

    async def wrong():
        raise RemotingError("no answer")

    assert [asyncio.run(ClusterReader._tried(taker, "b", "r", ask)) for ask in (right, wrong, right)] == [
        (1, True), (None, False), (1, True),
    ]  # fmt: skip
    assert seen == [(1, 1), (2, 2), (3, 3)] and len(taker.errors) == 1
