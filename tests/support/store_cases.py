"""What the tests of `rmqalloc.documents.store` share."""

from rmqalloc.documents.store import replaced_directory

LEFT = ".{}.0123456789abcdef.{}"
"""A name as killed writers leave it: of what, and its suffix."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fill(path, text="new", check=None):
    with replaced_directory(path, check) as new:
        (new / "part").write_text(text)
