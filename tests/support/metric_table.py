"""The table of metrics in docs/operators/daily.md, made from the metrics that `rmqalloc serve`
serves.

``python tests/support/metric_table.py`` writes it there.
"""

from checkout import ROOT
from command_reference import between, plain, table
from served import reading, readings_of

import rmqalloc
from rmqalloc.service.metrics import MetricsText

PAGE = ROOT / "docs" / "operators" / "daily.md"
_REST = ' Groups beyond the worst are summed under consumer_group="".'


def metric_table():
    """Return a row for each metric: its name, its labels, and its help text."""
    text = MetricsText(readings_of(reading(rmqalloc.read("example:orders"))), "production")
    state = text.readings.state
    rows = [
        [f"`{name_of(family)}`", labels_of(family), plain(family.documentation.removesuffix(_REST))]
        for family in [*text._of_state(state), *text._of_process()]
        if family.name.startswith("rmqalloc_")
    ]
    return table(["metric", "labels besides `cluster`", "meaning"], rows)


def name_of(family):
    """Return the name under which Prometheus keeps the samples of a family."""
    return f"{family.name}_total" if family.type == "counter" else family.name


def labels_of(family):
    """Return the labels that samples of a family have besides the cluster."""
    return ", ".join(f"`{name}`" for name in family._labelnames if name != "cluster")


def with_table(page):
    """Return a page with the table between its marks."""
    return between(page, "metrics", metric_table())


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
