"""Every function that takes the name of a file says by the same errors that it is not there, or
that a package is missing.
"""

import sys

import pytest

import rmqalloc
from rmqalloc import Snapshot
from rmqalloc.evidence import read_rooms
from rmqalloc.plans import read_gates
from rmqalloc.scenarios import read_scenarios
from rmqalloc.simulation import read_script
from rmqalloc.snapshot.files import read_snapshot, write_snapshot

READERS = (
    read_rooms,
    read_gates,
    read_scenarios,
    read_script,
    read_snapshot,
    rmqalloc.read,
    rmqalloc.verify,
)
OF_YAML = (read_rooms, read_gates, read_scenarios, read_script, read_snapshot, rmqalloc.read)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_file_that_is_not_there_is_an_error_of_the_system(read, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read(str(tmp_path / "none.json"))


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        write_snapshot(Snapshot(), str(tmp_path / "none" / "s.json"))


@pytest.mark.parametrize("read", OF_YAML, ids=lambda read: read.__name__)
def test_yaml_without_its_package_is_a_missing_module(read, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "s.yaml").write_text("a: 1\n")
    with pytest.raises(ModuleNotFoundError) as error:
        read(str(tmp_path / "s.yaml"))
    assert error.value.name == "yaml"


def test_a_form_without_its_package_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ModuleNotFoundError) as error:
        write_snapshot(Snapshot(), str(tmp_path / "s.yaml"))
    assert error.value.name == "yaml"
    assert list(tmp_path.iterdir()) == []


def test_rooms_are_read_by_name_and_pattern(tmp_path):
    (tmp_path / "rooms.json").write_text('{"brokers": {"a": "hz"}, "clients": {"10.*": "sh"}}')
    rooms = read_rooms(tmp_path / "rooms.json")
    found = [[(one.pattern, one.machine_room) for one in some] for some in rooms]
    assert found == [[("a", "hz")], [("10.*", "sh")]]
