"""What verbs are given that cannot be right ends in the error that their docstrings list."""

import pytest

import rmqalloc
from rmqalloc.errors import RoomsUnknownError
from rmqalloc.evidence import known
from rmqalloc.snapshot import SnapshotError
from rmqalloc.strategies import Ordinal2

SEED = rmqalloc.read("example:seed")


def test_rooms_that_the_snapshot_does_not_know_cannot_be_lost():
    with pytest.raises(RoomsUnknownError, match="machine room 'hz' is asked for"):
        rmqalloc.plan(
            SEED, [{"name": "x", "changes": [{"lose_machine_room": {"machine_room": "hz"}}]}]
        )


def test_a_plan_is_not_held_against_a_file_that_is_no_snapshot(tmp_path):
    rmqalloc.plan(SEED, [{"name": "x", "changes": [{"scale_clients": {"to": 3}}]}]).save(
        tmp_path / "plan.json"
    )
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(SnapshotError, match=r"bad\.json:1:1: apiVersion must be"):
        rmqalloc.verify(tmp_path / "plan.json", str(tmp_path / "bad.json"))


def test_sources_and_parameters_of_strategies_are_checked():
    with pytest.raises(
        ValueError, match="'nope' is no source of a strategy; sources are given, reported"
    ):
        known(SEED, require="nope")
    with pytest.raises(TypeError, match="virtual_nodes must be an integer, got 'x'"):
        rmqalloc.explain(
            SEED, "by-ring", "TopicTest", "broker-a", 3, "CONSISTENT_HASH", {"virtual_nodes": "x"}
        )
    with pytest.raises(TypeError, match="pattern must be a text such as '-#', got 1"):
        Ordinal2(pattern=1)
