"""Words that no text of a user holds: README, docs, help, errors, public docstrings.

The tables hold words with no use left; docs/writing.md has the rules for the remaining words.
"""

import re
from itertools import chain
from pathlib import Path

import pytest
from visible_text import Text, of_package, of_pages

from rmqalloc.strategies.base import NO_CLIENTS, NO_QUEUES

PROJECT = Path(__file__).parents[2]
PACKAGES = [PROJECT / "rmqalloc", PROJECT / "spark_udfs"]
PAGES = [PROJECT / "README.md", PROJECT / "docs", PROJECT / "proofs" / "README.md"]
PAGES += [PROJECT / "java" / "README.md", PROJECT / "go" / "README.md"]

# To be completed as further words reach zero.
WORDS = ["anew", "fate", "hears", "heard", "nobody", "nobody's", "of theirs", "ones", "stands"]
WORDS += ["theirs", "told", "so-many-th", "house", "floor", "floors", "door", "doors", "parted"]
WORDS += ["said", "says", "tells", "somebody", "whoever"]
JAVA = ["cidAll", "mqAll"]
"""Not in messages and pages; docstrings for authors of clients have RocketMQ's names."""
OF_ROCKETMQ = [NO_QUEUES, NO_CLIENTS]
"""Messages of RocketMQ's strategies, which are the same here."""


def uses(texts: list[Text], words: list[str]) -> list[str]:
    """Return each use of a word as ``file:line: word``."""
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b", re.I)
    found = []
    for text in texts:
        for match in pattern.finditer(text.text):
            line = text.line + text.text.count("\n", 0, match.start())
            found.append(f"{text.path.relative_to(PROJECT)}:{line}: {match.group()}")
    return found


@pytest.fixture(scope="module")
def texts():
    return [*chain.from_iterable(map(of_package, PACKAGES)), *of_pages(PAGES)]


def test_no_text_holds_a_picture_or_a_pronoun_in_place_of_a_noun(texts):
    found = uses(texts, WORDS)
    assert not found, "write the field's word instead:\n" + "\n".join(found)


def test_no_message_and_no_page_holds_an_identifier_of_java(texts):
    shown = [text for text in texts if text.kind != "docstring" and text.text not in OF_ROCKETMQ]
    found = uses(shown, JAVA)
    assert not found, "write what the operator sees instead:\n" + "\n".join(found)


def test_a_use_has_its_file_and_line():
    text = Text(PROJECT / "README.md", 3, "page", "A queue\nof theirs, nobody's.")
    assert uses([text], WORDS) == ["README.md:4: of theirs", "README.md:4: nobody's"]
