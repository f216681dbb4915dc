"""Alert rules and the dashboard: every query parses and reads metrics and labels that there are."""

import json
import re

import pytest
import yaml
from checkout import ROOT
from served_metrics import OF_TARGET, OTHERS, SERVED

pytestmark = pytest.mark.needs("promql-parser")

FOLDER = ROOT / "deploy"
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "prometheus" / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES}
DASHBOARD = json.loads((FOLDER / "grafana" / "dashboard.json").read_text())
PANELS = {panel["title"]: panel for panel in DASHBOARD["panels"]}
TIME = re.compile(r"\d+[smhd]")


def selectors(query):
    """The metrics that a query reads, each with the labels that it matches."""
    import promql_parser

    found = []

    def visit(node):
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, [one.name for one in node.matchers.matchers]))

    promql_parser.walk(promql_parser.parse(query), visit)
    return found


def grouping(query):
    """Labels that the outermost aggregation keeps, None where there is none."""
    import promql_parser

    node = promql_parser.parse(query)
    return (
        tuple(node.modifier.labels)
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier
        else None
    )


LABELS = SERVED | OTHERS


def faults(query):
    """What is wrong with a query: metrics, and labels of them, that there are not."""
    wrong = []
    for name, labels in selectors(query):
        if name not in LABELS:
            wrong.append(f"nobody serves {name}")
        else:
            wrong += [
                f"{name} has no label {one}"
                for one in labels
                if one not in (*LABELS[name], *OF_TARGET)
            ]
    return wrong


QUERIES = {name: rule["expr"] for name, rule in ALERTS.items()} | {
    f"{title} {target['refId']}": target["expr"]
    for title, panel in PANELS.items()
    for target in panel["targets"]
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_parses_and_reads_what_is_served(name):
    assert selectors(QUERIES[name])
    assert faults(QUERIES[name]) == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("rmqalloc_group_client > 0", ["nobody serves rmqalloc_group_client"]),
        ('increase(rmqalloc_findings{group="g"}[5m])', ["rmqalloc_findings has no label group"]),
        ("sum by (cluster) (rate(nothing[5m])) and up == 0", ["nobody serves nothing"]),
    ],
)
def test_a_fault_of_a_query_is_seen(query, said):
    assert faults(query) == said


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_waits_has_a_severity_and_says_labels_that_it_has(name):
    rule = ALERTS[name]
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert TIME.fullmatch(rule["for"]) and rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert "summary" in rule["annotations"] and rule["annotations"].keys() <= {
        "summary",
        "description",
    }
    kept = grouping(rule["expr"]) or (*LABELS[selectors(rule["expr"])[0][0]], *OF_TARGET)
    for label in re.findall(r"\$labels\.(\w+)", "".join(rule["annotations"].values())):
        assert label in kept, label


def test_alerts_on_groups_leave_out_the_sum_of_those_beyond_the_worst():
    for name, rule in ALERTS.items():
        metric, labels = selectors(rule["expr"])[0]
        if "consumer_group" in LABELS[metric] and name not in (
            "RmqallocFindings",
            "RmqallocNotKnown",
        ):
            assert "consumer_group" in labels, name


def test_what_stops_consumption_and_what_hides_it_has_an_alert():
    read = {name for rule in ALERTS.values() for name, _ in selectors(rule["expr"])}
    assert read == {
        "rmqalloc_unowned_lag_messages", "rmqalloc_group_double_owned_queues", "rmqalloc_group_clients_joined_total",
        "rmqalloc_group_clients_left_total", "rmqalloc_lasting_findings", "rmqalloc_group_not_known", "rmqalloc_ready",
        "rmqalloc_source_up", "up",
    }  # fmt: skip
    assert len(ALERTS) == len(RULES) <= 8


def test_the_scrape_of_the_service_bears_its_token_and_reads_the_rules():
    config = yaml.safe_load((FOLDER / "prometheus" / "prometheus.yaml").read_text())
    assert [(FOLDER / "prometheus" / name).is_file() for name in config["rule_files"]] == [True]
    [job] = config["scrape_configs"]
    assert job["authorization"]["type"] == "Bearer" and job["honor_labels"] is True
    assert f'job="{job["job_name"]}"' in ALERTS["RmqallocDown"]["expr"]


def test_panels_stand_side_by_side():
    taken = set()
    for title, panel in PANELS.items():
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24 and not taken & cells, title
        taken |= cells
    assert (
        len(PANELS)
        == len(DASHBOARD["panels"])
        == len({panel["id"] for panel in DASHBOARD["panels"]})
    )


def test_panels_take_the_source_and_the_variables_that_there_are():
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert set(variables) == {"datasource", "cluster", "consumer_group"}
    for title, panel in PANELS.items():
        assert (
            panel["type"] in ("stat", "timeseries", "table")
            and panel["datasource"]["uid"] == "${datasource}"
        ), title
        for target in panel["targets"]:
            assert set(re.findall(r"\$\{?(\w+)", target["expr"])) <= set(variables), title
    for name in ("cluster", "consumer_group"):
        metric, label = re.fullmatch(
            r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variables[name]["query"]["query"]
        ).groups()
        assert label in SERVED[metric]


def test_grafana_finds_the_dashboard_and_the_source():
    provisioning = FOLDER / "grafana" / "provisioning"
    [provider] = yaml.safe_load((provisioning / "dashboards" / "rmqalloc.yaml").read_text())[
        "providers"
    ]
    [source] = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())[
        "datasources"
    ]
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert source["url"] == "http://prometheus:9090" and "prometheus" in services
    mounted = [one.split(":")[1] for one in services["grafana"]["volumes"]]
    assert any(path.startswith(provider["options"]["path"]) for path in mounted)


def test_the_page_names_each_alert():
    page = (ROOT / "docs" / "operators" / "daily.md").read_text("utf-8")
    assert set(re.findall(r"`(Rmqalloc\w+)`", page)) == ALERTS.keys()
