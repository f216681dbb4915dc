"""``--shuffle SEED``: files in a random order, and the tests of each; the same seed gives the same
order.

A file stays together, as its fixtures are set up once. What shares a server still begins first, as
it takes longest.
"""

import random

import pytest
import selected


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", metavar="SEED", help="run files, and the tests of each, in a random order"
    )


@pytest.hookimpl(trylast=True)  # after pytest has put tests of one parameter together
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if seed := config.option.shuffle:
        items.sort(key=lambda item: item.nodeid)
        random.Random(seed).shuffle(items)
        place = {path: i for i, path in enumerate(dict.fromkeys(item.path for item in items))}
        items.sort(key=lambda item: (selected.rank(config, item.nodeid), place[item.path]))
