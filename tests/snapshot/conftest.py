"""What tests of pasted outputs share."""

import pytest

from rmqalloc.snapshot.files import read_snapshots


@pytest.fixture
def read(tmp_path):
    """The snapshot of a paste, and its warnings."""

    def read(text):
        path = tmp_path / "all.txt"
        path.write_text(text)
        return read_snapshots([str(path)])

    return read
