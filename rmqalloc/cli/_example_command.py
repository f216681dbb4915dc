"""``rmqalloc example``: the examples that come with rmqalloc, listed and printed."""

from __future__ import annotations

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import file_to_write, option
from rmqalloc.cli._sink import hand_over, say_lines
from rmqalloc.results.renderer import text_table

_READ_BY = {"snapshot": "-f", "scenarios": "--scenario", "simulation": "simulate"}


@click.command(cls=Verb)
@click.argument("name", required=False)
@option("out", more=". Default: standard output", callback=file_to_write)
def example(name: str | None, out: str | None) -> None:
    """List the examples that rmqalloc contains, or print the example NAME.

    \b
    rmqalloc example
    rmqalloc example seed --out mine.yaml
    rmqalloc plan -f example:seed --scenario example:what-if

    Verbs that read such a file accept example:NAME as well. To read a file with such a name, write
    ./example:NAME.
    """
    from rmqalloc.documents.store import write_file
    from rmqalloc.snapshot.examples import EXAMPLES, PREFIX, ExampleError, find

    if name is None:
        if out is not None:
            raise click.UsageError("--out needs the name of an example")
        rows = [(f"{PREFIX}{one.name}", _READ_BY[one.kind], one.shows) for one in EXAMPLES.values()]
        say_lines(text_table(("example", "for", "shows"), rows))
        return
    try:
        text = find(name).path.read_text(encoding="utf-8")
    except ExampleError as error:
        raise click.UsageError(str(error)) from error
    if out is None:
        hand_over(text, end="")
    else:
        write_file(out, text)
