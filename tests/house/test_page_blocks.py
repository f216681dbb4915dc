"""Every block of every page runs, and prints what the page shows."""

from collections import Counter

import page_blocks
import pytest
from checkout import ROOT
from page_blocks import NEEDS, PAGES, blocks_of, needs_spark, run_page

N_NOT_RUN = 33
"""So many blocks are not run at most, for the reasons that `NEEDS` lists."""


def name_of(page):
    return str(page.relative_to(ROOT))


def pages():
    for page in PAGES:
        marks = [pytest.mark.spark] if needs_spark(page.read_text(encoding="utf-8")) else []
        yield pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", list(pages()))
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, tmp_path, request):
    text = page.read_text(encoding="utf-8")
    wrong, _ = run_page(
        page, tmp_path, request.getfixturevalue("spark") if needs_spark(text) else None
    )
    assert not wrong, "\n".join(wrong)


def test_blocks_that_are_not_run_are_few_and_say_why():
    left_out = [
        (block.needs, name_of(page))
        for page in PAGES
        for block in blocks_of(page.read_text("utf-8"))
        if block.needs
    ]
    for (reason, page), n in sorted(Counter(left_out).items()):
        print(f"{page}: {n} needs {reason}: {NEEDS[reason]}")
    assert len(left_out) <= N_NOT_RUN


def test_the_blocks_of_a_page_are_all_found():
    """None is hidden by its form: as many begin as there are fences."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = [line for line in text.splitlines() if line.lstrip().startswith("```")]
        assert len(fences) == 2 * len(list(blocks_of(text))), name_of(page)


@pytest.mark.parametrize(("block", "said"), [
    pytest.param("```console\n$ rmqalloc allocate -t T --queues a:1 -c x\nnothing of the kind\n```\n",
                 "prints", id="console"),
    ("```bash\nrmqalloc plan -f missing.yaml --scale 3\n```\n", "ends with 1"),
    ("```python\n>>> 1 + 1\n3\n\n```\n", "Got:"),
])  # fmt: skip
def test_a_wrong_block_is_seen(block, said, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(block)
    (wrong,), _ = run_page(page, tmp_path)
    assert said in wrong


@pytest.mark.spark
def test_a_page_leaves_no_view_and_no_setting_behind(spark, tmp_path):
    page = tmp_path / "page.md"
    settings = "from pyspark.sql import SparkSession\nSparkSession.builder.appName('p').config('spark.sql.x', 1).getOrCreate()"
    page.write_text(
        f"```sql\nCREATE TEMPORARY VIEW of_a_page AS SELECT 1\n```\n\n```python\n{settings}\n```\n"
    )
    before, before_settings = page_blocks.views_of(spark), page_blocks.settings_of(spark)
    wrong, _ = run_page(page, tmp_path, spark)
    assert not wrong
    assert page_blocks.views_of(spark) == before
    assert page_blocks.settings_of(spark) == before_settings
    assert not spark.catalog.tableExists("of_a_page")


def test_an_updated_page_holds_what_its_commands_print(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```console\n$ rmqalloc --version\nsomething else\n```\n")
    _, made = run_page(page, tmp_path)
    assert (
        made.startswith("Text.\n\n```console\n$ rmqalloc --version\nrmqalloc ")
        and "else" not in made
    )
    assert page_blocks.fits("rmqalloc ...", made.splitlines()[4])
