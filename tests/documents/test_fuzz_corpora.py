"""Every reader on damaged files, a few new ones and those that fuzzing kept: it answers, or refuses
with its own error.
"""

import pytest
from fuzz import readers, running
from fuzz.guided import python_targets, replay


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("name", readers.READERS)
def test_every_reader_takes_some_inputs_and_refuses_others_with_its_own_error(name):
    made = running.run(name, 60, 7)
    assert made.tracebacks == []
    assert sum(made.errors.values()) == 60
    assert len(made.errors) > 1


@pytest.mark.parametrize("name", python_targets.NAMES)
def test_committed_inputs_are_read_or_refused_and_answers_are_the_twin_s(name):
    assert replay.replay_python(name) > 0
