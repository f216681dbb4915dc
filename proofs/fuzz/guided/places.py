"""Where corpora, programs and findings lie."""

from checkout import DATA, ROOT

CORPORA = DATA / "fuzz"
"""Committed inputs, a folder for each target."""

WORK = ROOT / "build" / "fuzz"
"""Programs, grown corpora, logs and findings of this machine."""


def corpus(name, committed=False):
    """The folder of a target's inputs; the one that grows begins empty."""
    folder = CORPORA / name if committed else WORK / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def inputs(name):
    """The committed inputs of a target, in order."""
    return sorted(path for path in (CORPORA / name).glob("*") if path.is_file())
