"""Promises of pages and docstrings, and the tests that hold each."""

import re
from dataclasses import dataclass, field
from functools import partial

from checkout import ROOT

from promises import markers, names, sentences, verdicts
from promises.descriptions import DESCRIPTIONS

LEFT_OUT = re.compile(
    r"docs/(?:api|decisions|project)/|docs/(?:evidence|benchmarks|beside-java|examples|promises|try|client-author)\.md"
)
"""Pages of figures and decisions, those that are made, and those for people who change rmqalloc."""


@dataclass
class Promise:
    """A promise: where it stands, its words, the tests that hold it, and how many mutants they
    kill.
    """

    where: str
    text: str
    tests: list = field(default_factory=list)
    has_example: bool = False
    killed: int = 0

    @property
    def is_held(self):
        return self.has_example or bool(self.tests)


def pages():
    """Return the text of every page with promises, by its path."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    named = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return {
        name: path.read_text(encoding="utf-8")
        for name, path in named.items()
        if not LEFT_OUT.match(name)
    }


def holds(marked, sentence):
    """Whether a marker's words stand in a sentence."""
    return sentences.plain(marked.words) in sentence


def states_a_rule(where, sentence):
    """Whether a sentence of a page has the words of a promise and is not listed as a description."""
    described = DESCRIPTIONS.get(where, ())
    return sentences.RELIED_ON.search(sentence) and not any(
        words in sentence for words in described
    )


def of_sentences(where, found, marked, is_promise):
    """Yield those of the sentences that are promises by themselves or by a marker."""
    for text in dict.fromkeys(found):
        tests = sorted({one.test for one in marked if holds(one, text)})
        if tests or is_promise(text):
            yield Promise(where, text, tests, killed=verdicts.of_last_run().by(tests))


def of_pages():
    """Return the promises of all pages."""
    marked = markers.of_tests()[0]
    found = []
    for where, text in pages().items():
        mine = [one for one in marked if one.where == where]
        found += of_sentences(where, sentences.of_page(text), mine, partial(states_a_rule, where))
    return found


def of_name(name, marked, raised, known):
    """Yield the promises of a public name: its summary, its errors, and what markers name."""
    mutants = verdicts.of_last_run()
    tests, killed, _ = mutants.within(name.code)
    held = sorted({one.test for one in marked if holds(one, name.summary)})
    if held or not name.is_definition:
        yield Promise(
            name.name, name.summary, [*held, *tests], name.has_example, killed + mutants.by(held)
        )
    raised = [one for one in raised if names.called(one.called) is name.thing]
    when_raised = set()
    for kinds, when in name.raises():
        seen = [one.test for one in raised if names.is_kind_of(one.error, kinds, known)]
        seen += [one.test for one in marked if holds(one, when)]
        when_raised.add(when)
        yield Promise(
            name.name, f"{', '.join(kinds)}: {when}", sorted({*seen}), killed=mutants.by(seen)
        )
    others = [text for text in sentences.of_docstring(name.docstring) if text not in name.summary]
    others = [text for text in others if not any(text in when for when in when_raised)]
    yield from of_sentences(name.name, others, marked, lambda text: False)


def of_names():
    """Return the promises of all public names, and those of other docstrings that markers name."""
    marked, raised = markers.of_tests()
    known, public, found = names.errors(), names.public(), []
    for name in public:
        found += of_name(name, [one for one in marked if one.where == name.name], raised, known)
    for where in sorted(
        {one.where for one in marked if "/" not in one.where}
        - {"README.md"}
        - {one.name for one in public}
    ):
        text = names.docstring_of(where) or ""
        mine = [one for one in marked if one.where == where]
        found += of_sentences(where, sentences.of_docstring(text), mine, lambda text: False)
    return found


def unknown(promises):
    """Return the markers whose words stand in no sentence of their page or docstring."""
    texts = {}
    for one in promises:
        texts.setdefault(one.where, []).append(one.text)
    return [
        one
        for one in markers.of_tests()[0]
        if not any(holds(one, text) for text in texts.get(one.where, ()))
    ]
