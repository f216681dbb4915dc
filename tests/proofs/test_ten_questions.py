"""The ten questions of an engineer on call: all answered, and an answer that is wrong is seen."""

from ten_questions import __main__ as program


def test_all_are_answered_from_the_help_alone():
    help_text, found = program.answers()
    assert len(found) == 10 and [one.wrong for one in found] == [[]] * 10
    assert max(one.n_lines for one in found) <= program.MOST_LINES and "Exit codes:" in help_text


def test_a_wrong_answer_is_seen(monkeypatch):
    asked = program.Question("?", "groups -f now.yaml --strategy AVG", ("no such group",))
    monkeypatch.chdir(program.HERE)
    monkeypatch.setattr(program, "MOST_LINES", 2)
    help_text = program.run(program.HELP)
    first, second, third = program.answered(asked, help_text).wrong
    assert (first, second) == ("it does not say 'no such group'", "--strategy is not in the help")
    assert third.startswith("it takes ")
