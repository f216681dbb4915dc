"""Every function that takes the name of a file says by the same errors that it is not there, or
that a package is missing.
"""

import sys

import pytest

import rmqalloc
from rmqalloc import Snapshot
from rmqalloc.evidence import read_rooms
from rmqalloc.plans import read_gates, read_key
from rmqalloc.scenarios import read_scenarios
from rmqalloc.simulation import read_script
from rmqalloc.snapshot.files import read_snapshot, write_snapshot

READERS = (
    read_rooms,
    read_gates,
    read_key,
    read_scenarios,
    read_script,
    read_snapshot,
    rmqalloc.read,
    rmqalloc.verify,
)
OF_YAML = (read_rooms, read_gates, read_scenarios, read_script, read_snapshot, rmqalloc.read)


@pytest.mark.holds("rmqalloc.evidence.read_rooms", "The file cannot be read.")
@pytest.mark.holds("rmqalloc.plans.read_gates", "The file cannot be read.")
@pytest.mark.holds("rmqalloc.plans.read_key", "The file cannot be read.")
@pytest.mark.holds("rmqalloc.simulation.read_script", "The file cannot be read.")
@pytest.mark.holds("rmqalloc.snapshot.files.read_snapshot", "If the file cannot be read.")
@pytest.mark.holds("rmqalloc.read", "A file cannot be read.")
@pytest.mark.holds("rmqalloc.verify", "A file cannot be read.")
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_file_that_is_not_there_is_an_error_of_the_system(read, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read(str(tmp_path / "none.json"))


@pytest.mark.holds("rmqalloc.snapshot.files.write_snapshot", "If the file cannot be written.")
def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        write_snapshot(Snapshot(), str(tmp_path / "none" / "s.json"))


@pytest.mark.holds(
    "rmqalloc.evidence.read_rooms", "A YAML file is given and PyYAML is not installed."
)
@pytest.mark.holds("rmqalloc.plans.read_gates", "A YAML file is given and PyYAML is not installed.")
@pytest.mark.holds(
    "rmqalloc.scenarios.read_scenarios", "A YAML file is given and PyYAML is not installed."
)
@pytest.mark.holds(
    "rmqalloc.simulation.read_script", "A YAML file is given and PyYAML is not installed."
)
@pytest.mark.holds(
    "rmqalloc.snapshot.files.read_snapshot", "If the form needs a package that is not installed"
)
@pytest.mark.holds("rmqalloc.read", "The form needs a package that is not installed")
@pytest.mark.parametrize("read", OF_YAML, ids=lambda read: read.__name__)
def test_yaml_without_its_package_is_a_missing_module(read, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "s.yaml").write_text("a: 1\n")
    with pytest.raises(ModuleNotFoundError) as error:
        read(str(tmp_path / "s.yaml"))
    assert error.value.name == "yaml"


@pytest.mark.holds(
    "rmqalloc.snapshot.files.write_snapshot", "If the form needs a package that is not installed"
)
def test_a_form_without_its_package_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ModuleNotFoundError) as error:
        write_snapshot(Snapshot(), str(tmp_path / "s.yaml"))
    assert error.value.name == "yaml"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.holds("rmqalloc.plans.read_key", "without white space around it")
def test_a_key_has_no_white_space_around_it(tmp_path):
    (tmp_path / "key").write_bytes(b" \n" + b"k" * 32 + b"\n")
    assert read_key(tmp_path / "key") == b"k" * 32


@pytest.mark.holds(
    "rmqalloc.evidence.read_rooms", "under brokers and clients, rooms by name or pattern"
)
def test_rooms_are_read_by_name_and_pattern(tmp_path):
    (tmp_path / "rooms.json").write_text('{"brokers": {"a": "hz"}, "clients": {"10.*": "sh"}}')
    rooms = read_rooms(tmp_path / "rooms.json")
    found = [[(one.pattern, one.machine_room) for one in some] for some in rooms]
    assert found == [[("a", "hz")], [("10.*", "sh")]]
