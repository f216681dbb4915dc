"""Lines of the rooms that read which the committed inputs reach, as JSON: ``python -m
guided_fuzz.python_coverage``.
"""

import importlib.util
import json
import sys
from pathlib import Path

from guided_fuzz.python_targets import NAMES_OF_READERS

ROOMS = {
    "documents": ["documents/*"],
    "snapshot/files": ["snapshot/files/*"],
    "snapshot: the model that is read": [
        "snapshot/plain_data*",
        "snapshot/snapshot*",
        "snapshot/directory*",
    ],
    "remoting: frames, the tolerant JSON reader, credentials": [
        "remoting/frames*",
        "remoting/loose_json*",
        "remoting/credentials*",
    ],
    "snapshot/live: answers of servers": ["snapshot/live/_answers*", "snapshot/live/_members*"],
    "scenarios": ["scenarios/*"],
    "simulation: scripts": ["simulation/_script*"],
    "plans: files, gates": ["plans/_plan_files*", "plans/_gates*"],
    "rebalance: offsets": ["rebalance/_offset_file*"],
    "evidence: rooms that are given": ["evidence/given_rooms*"],
}


def main():
    """Print lines and lines reached of every room."""
    import coverage

    package = Path(importlib.util.find_spec("rmqalloc").submodule_search_locations[0])
    counted = coverage.Coverage(data_file=None, include=[f"{package}/*"], messages=False)
    counted.start()
    from guided_fuzz.replay import replay_python

    n = sum(map(replay_python, NAMES_OF_READERS))
    counted.stop()
    found = {}
    for room, patterns in ROOMS.items():
        lines = missing = 0
        for path in (
            path for pattern in patterns for path in package.glob(pattern) if path.suffix == ".py"
        ):
            _, of_file, _, left, _ = counted.analysis2(str(path))
            lines, missing = lines + len(of_file), missing + len(left)
        found[room] = [lines, lines - missing]
    json.dump({"inputs": n, "rooms": found}, sys.stdout)


if __name__ == "__main__":
    main()
