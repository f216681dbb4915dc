"""Ten questions of an engineer on call, each answered from ``rmqalloc --help`` alone: ``python -m
ten_questions [--report F]``.

A question takes two commands: the help, which names the verb and every option that is used, and the
verb. The transcript of one snapshot (``now.yaml``, and ``saved.yaml`` of two hours before) is
scored by commands and by lines that are read. Something is wrong if an answer does not say what is
true of the snapshot, takes more than 40 lines, or uses an option that the help does not name.
"""

import argparse
import contextlib
import io
import os
import sys
from pathlib import Path
from typing import NamedTuple

from rmqalloc.cli import main as rmqalloc

HERE = Path(__file__).parent
MOST_COMMANDS, MOST_LINES = 2, 40
HELP = "--help"


class Question(NamedTuple):
    """What is asked, the verb with its options, and what the answer must say."""

    text: str
    command: str
    says: tuple[str, ...]


QUESTIONS = (
    Question(
        "Who owns queue 7 of orders?",
        "show -f now.yaml -t orders --queue 7",
        ("broker-a:7", "pod-3@1", "broker-b:7", "pod-7@1"),
    ),
    Question(
        "Which queues has nobody?",
        "show -f now.yaml",
        ("! refunds", "broker-a:2-3", "nobody", "10.0.0.1@11 is not unique"),
    ),
    Question("Which group is worst?", "groups -f now.yaml", ("! refund-svc",)),
    Question(
        "Which clients are idle?",
        "show -f now.yaml --by client --where is_idle=yes",
        ("10.0.0.5@25", "audit-svc", "idle"),
    ),
    Question(
        "What runs on host 10.0.0.1?",
        "show -f now.yaml --by client -c 10.0.0.1",
        ("10.0.0.1@11", "10.0.0.1@21"),
    ),
    Question("Who has the lag?", "show -f now.yaml --by client", ("pod-6@1", "3,150")),
    Question(
        "What is not known?",
        "show -f now.yaml --where known=unknown",
        ("16 unknown", "report-svc", "nothing shows which strategy its clients use"),
    ),
    Question(
        "What breaks if broker-b dies?",
        "plan -f now.yaml --remove-broker broker-b",
        ("order-svc", "16 → 8"),
    ),
    Question(
        "May pod-7 stop?",
        "plan -f now.yaml -g order-svc --remove-client pod-7@1",
        ("pod-7@1", "unowned 0, idle 0; nothing gets worse"),
    ),
    Question(
        "What changed since the saved file?",
        "diff saved.yaml now.yaml",
        ("order-svc", "8 → 7", "report-svc"),
    ),
)


class Answer(NamedTuple):
    """What a question was answered with."""

    question: Question
    text: str
    wrong: list[str]

    @property
    def n_lines(self) -> int:
        return len(self.text.splitlines())


def run(command: str) -> str:
    """Return what a command of rmqalloc prints, notes included."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        rmqalloc(command.split())
    return out.getvalue().rstrip("\n")


def answered(question: Question, help_text: str) -> Answer:
    """Answer a question, and say what is wrong with the answer."""
    text, words = run(question.command), help_text.split()
    wrong = [f"it does not say {one!r}" for one in question.says if one not in text]
    verb, *given = question.command.split()
    named = [verb, *(one for one in given if one.startswith("-"))]
    wrong += [f"{one} is not in the help" for one in named if one not in words]
    if len(text.splitlines()) > MOST_LINES:
        wrong.append(f"it takes {len(text.splitlines())} lines")
    return Answer(question, text, wrong)


def answers() -> tuple[str, list[Answer]]:
    """Return the help, and the answers to all questions."""
    before = Path.cwd()
    os.chdir(HERE)
    try:
        help_text = run(HELP)
        return help_text, [answered(one, help_text) for one in QUESTIONS]
    finally:
        os.chdir(before)


def page(help_text: str, found: list[Answer]) -> str:
    """Return the scores and the transcript."""
    head = [
        "# Ten questions at three in the morning",
        "",
        f"Each takes {MOST_COMMANDS} commands: `rmqalloc {HELP}` ({len(help_text.splitlines())} lines), and the verb it names.",
        "",
        "| question | command | lines |",
        "| --- | --- | ---: |",
        *(
            f"| {one.question.text} | `rmqalloc {one.question.command}` | {one.n_lines} |"
            for one in found
        ),
        "",
    ]
    blocks = [(HELP, help_text), *((one.question.command, one.text) for one in found)]
    for command, text in blocks:
        head += ["```console", f"$ rmqalloc {command}", text, "```", ""]
    return "\n".join(head)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ten_questions", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--report", type=Path, help="page to write")
    parser.add_argument(
        "--quick", action="store_true", help="changes nothing: all of it takes seconds"
    )
    given = parser.parse_args(argv)
    help_text, found = answers()
    text = page(help_text, found)
    if given.report is not None:
        given.report.write_text(text, "utf-8")
    print(text)
    wrong = [f"{one.question.text} {said}" for one in found for said in one.wrong]
    most = max(one.n_lines for one in found)
    n_right = sum(not one.wrong for one in found)
    print(
        f"{n_right} of {len(found)} answered by {MOST_COMMANDS} commands, {most} lines at most",
        *wrong,
        sep="\n",
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
