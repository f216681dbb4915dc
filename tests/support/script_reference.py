"""The page on what a script of a simulation may hold, from its JSON Schema: ``python
tests/support/script_reference.py``.
"""

from checkout import ROOT

from rmqalloc.simulation import script_schema

PAGE = ROOT / "docs" / "simulation-scripts.md"
HEAD = """# Scripts of simulations

What a script of `rmqalloc simulate` may hold. This page is made from the JSON Schema (`rmqalloc simulate --schema`), which is
made from the declarations that read scripts; `python tests/support/script_reference.py` writes it. What simulations
show is in [what a rebalance costs](rebalance-cost.md), whole scripts are [examples](command-line.md#examples).

A script is YAML (`.yaml`, `.yml`) or JSON (any other name), read [as strictly as snapshots](snapshots.md#yaml-and-json).
Settings bear RocketMQ's own names in snake case: `notify_consumer_ids_changed_enable` is `notifyConsumerIdsChangedEnable`.

- **Times** are text with a unit: `500ms`, `30s`, `2m`, `1h`, at most `24h`. A number without a unit is refused, for `5` could
  be seconds or milliseconds; only `0` needs none, where a time may be zero.
- **Names** of clients, brokers and topics are one text or a list of them; each is said once.
- **Steps are possible** when they come, or the script is refused before anything runs, with file, line and column of the
  step: nobody joins who runs; who leaves, pauses, is stalled or is cut off runs at that time; a client that is stalled is
  not paused or shut down; pauses, freezes, partitions and rolling restarts of the same do not overlap; brokers run that are
  told something; nothing happens at the end or later, and what lasts is over by then. Events of one time happen in the order
  of the list, after all that is due at that time.
"""
TAIL = """
## What has no setting

`CONSUME_FROM_*`, broadcasting, filters, strict lock mode with several replicas of a broker, and whatever does not touch a
rebalance. A queue that is popped has no owner in the figures, for any number of clients may read it. Pulls are no requests in
the figures, but a connection that a client pulls over is not idle; a pull that a real broker holds back on an empty queue may
make its connection look used for up to 15 s longer. A setting of `mqadmin updateBrokerConfig` counts at once and is kept over
a restart, as in RocketMQ, where the others need a restart: these can be given at the start only.
"""


def page():
    """The text of the page."""
    schema = script_schema()
    parts = [HEAD, "## A script\n", table(schema)]
    for name in ("topics", "groups"):
        parts += [
            f"\n## `{name}`\n",
            schema["properties"][name]["items"]["description"],
            "",
            table(items(schema, name)),
        ]
    group = items(schema, "groups")["properties"]["subscription_group"]
    parts += ["\n### `subscription_group` of a group\n", group["description"], "", table(group)]
    settings = items(schema, "broker_settings")
    parts += ["\n## `broker_settings`\n", settings["description"], "", table(settings)]
    at = items(schema, "events")["properties"]["at"]
    parts += [
        "\n## `events`\n",
        f"Each is a mapping of `at` and one of the following. `at`: {at['description']}",
    ]
    for kind, event in items(schema, "events")["properties"].items():
        if kind != "at":
            parts += [f"\n### `{kind}`\n", event["description"], "", table(event)]
    return "\n".join([*parts, TAIL])


def items(schema, name):
    """Schema of the parts of a list."""
    return schema["properties"][name]["items"]


def table(schema):
    """A row for every field of an object."""
    rows = ["| field | holds | if left out | |", "| --- | --- | --- | --- |"]
    for name, field in schema["properties"].items():
        left_out = "**needed**" if name in schema["required"] else shown(field.get("default"))
        rows.append(f"| `{name}` | {kind(field)} | {left_out} | {field.get('description', '')} |")
    return "\n".join(rows)


def shown(default):
    """A default in a cell."""
    if default is None or default == []:
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def kind(field):
    """What a field may hold, in a few words."""
    if "anyOf" in field and "type" not in field:
        return " or ".join(dict.fromkeys(kind(one) for one in field["anyOf"]))
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field["type"] == "string":
        return "time" if field.get("pattern", "").endswith("(ms|s|m|h)$") else "text"
    if field["type"] == "array":
        return "list of text" if field["items"].get("type") == "string" else "list"
    words = {"integer": "whole number", "boolean": "true or false", "object": "mapping"}
    bounds = f" {field['minimum']} to {field['maximum']}" if "minimum" in field else ""
    return words[field["type"]] + bounds


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
