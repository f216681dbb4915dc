"""The specifications of our own strategies as programs: the Python blocks of a page, as the slow
twin of the compiled code.

The pages are `docs/reference/ordinal.md` and `docs/reference/stable.md`. What they define is used
as it stands there, so that a reader who implements a page and these tests cannot come to different
answers.
"""

import functools
import re
from types import SimpleNamespace

from checkout import ROOT

TABLES = ROOT / "rmqalloc" / "strategies" / "ordinal-tables.txt"


@functools.cache
def page(name):
    """All that the Python blocks of ``docs/reference/<name>.md`` define.

    >>> page("ordinal").slot_of("10.0.3.17@consumer-7")
    7
    """
    path = ROOT / "docs" / "reference" / f"{name}.md"
    blocks = re.findall(
        r"^```python\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    names = {"__name__": f"the page {name}"}
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)
    return SimpleNamespace(**names)


@functools.cache
def tables():
    """The lists of orders of ORDINAL's tables by number of queues."""
    lines = TABLES.read_text(encoding="ascii").splitlines()
    return {int(line.split()[0]): line.split()[2:] for line in lines}


def ordinal(queues, client_ids, pattern="-#", with_tables=False):
    """Owners under ORDINAL, as positions; queues are (topic, broker name, queue id), all of one
    topic.
    """
    twin, topic = page("ordinal"), queues[0][0]
    if with_tables:
        return twin.ordinal_by_tables(topic, len(queues), client_ids, tables(), pattern)
    return twin.ordinal(
        topic, [(broker_name, queue_id) for _, broker_name, queue_id in queues], client_ids, pattern
    )


def ordinal_2(queues, client_ids, pattern="-#"):
    """Owners under version 2 of ORDINAL, as `ordinal` has them."""
    keys = [(broker_name, queue_id) for _, broker_name, queue_id in queues]
    return page("ordinal").ordinal_2(queues[0][0], keys, client_ids, pattern)


def stable(queues, client_ids, slack=0):
    """Owners under STABLE, as positions; queues are (topic, broker name, queue id), all of one
    topic.
    """
    brokers = [(broker_name, queue_id) for _, broker_name, queue_id in queues]
    return page("stable").stable(queues[0][0], brokers, client_ids, slack)
