"""What releases cost: committed files, the page that is made of them, and bounds that a wheel can
exceed.
"""

import copy
import zipfile

import pytest
from releases import measure, page
from releases.bounds import MEASURED, RATIOS, REPEATABLE, UNRELEASED, checks, order

ENTRIES = page.entries()
NEWEST = ENTRIES[-1]
QUICK = {key: NEWEST[key] for key in ("version", "bytes", "modules", "instructions", "compiler")}


def above(entry, before=NEWEST):
    return [check.what for check in checks(entry, before) if not check.is_kept]


def test_there_is_a_file_for_the_first_release_and_one_for_this_tree():
    versions = [entry["version"] for entry in ENTRIES]
    assert versions[0] == "0.1.0"
    assert versions == sorted(versions, key=order)
    assert all((page.FOLDER / f"{version}.json").is_file() for version in versions)


def test_the_page_and_its_picture_are_those_of_the_committed_files():
    assert page.PAGE.read_text(encoding="utf-8") == page.page(ENTRIES)
    assert page.PICTURE.read_text(encoding="utf-8") == page.picture(ENTRIES)


def test_the_newest_file_keeps_its_bounds():
    assert above(NEWEST) == []
    assert above(QUICK) == []


@pytest.mark.parametrize("figure", REPEATABLE + MEASURED, ids=lambda figure: figure.title)
def test_growth_beyond_the_bound_is_seen(figure):
    grown = copy.deepcopy(NEWEST)
    within = grown
    for key in figure.keys[:-1]:
        within = within[key]
    added = figure.of(NEWEST) * (figure.growth - 1)
    within[figure.keys[-1]] += added * 0.9
    assert above(grown) == []
    within[figure.keys[-1]] += added * 0.2
    assert above(grown) == [figure.title]


def test_instructions_beyond_the_bound_are_seen_in_a_quick_run():
    grown = copy.deepcopy(QUICK)
    grown["instructions"]["split.contiguous"] = int(1.3 * QUICK["instructions"]["split.contiguous"])
    assert above(grown) == ["Instructions of split.contiguous"]


@pytest.mark.parametrize("ratio", RATIOS, ids=lambda ratio: ratio.title)
def test_a_strategy_that_waits_for_memory_is_seen(ratio):
    slow = copy.deepcopy(NEWEST)
    times = slow
    for key in ratio.keys:
        times = times[key]
    times[ratio.name] = 1.01 * ratio.most * times[ratio.over]
    assert ratio.title in above(slow)


def test_sizes_are_those_of_the_wheel_and_of_what_is_in_it(tmp_path):
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/__init__.py", "x" * 1000)
        archive.writestr("a/b.py", "y" * 500)
    found = measure.sizes(wheel)
    assert found == {"wheel": wheel.stat().st_size, "installed": 1500, "files": 2}
    assert found["wheel"] < 1000


def test_versions_are_in_the_order_of_their_numbers():
    assert sorted([UNRELEASED, "0.10.0", "0.2.0", "0.9.1"], key=order)[-2:] == [
        "0.10.0",
        UNRELEASED,
    ]
