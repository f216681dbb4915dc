"""The tables of docs/reference/snapshots.md: the fields of snapshots and of scripts of a simulation,
made from their JSON Schemas, the changes of scenarios, and the forms of mqadmin's outputs.

``python tests/support/field_tables.py`` writes them there.
"""

import inspect

from checkout import ROOT
from command_reference import between, plain, table

from rmqalloc.scenarios.scenario import CHANGES
from rmqalloc.simulation import script_schema
from rmqalloc.snapshot.files import snapshot_schema
from rmqalloc.snapshot.files.outputs._formats import FORMATS

PAGE = ROOT / "docs" / "reference" / "snapshots.md"
TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "array": "list",
    "object": "mapping",
}
MOST_WORDS = 6
"""Most words of a field that its type lists."""
SHOWN_ELSEWHERE = ("events", "queue", "owned")
"""Fields whose mappings have no table: events have one of their own, and what a queue is follows
from the text of the page.
"""
HEADING = ["field", "type", "meaning"]


def snapshot_tables():
    """Return a table for each kind of mapping in a snapshot, with a title above each."""
    return "\n\n".join(tables_of(snapshot_schema(), "Snapshot"))


def script_tables():
    """Return a table for each kind of mapping in a script, and one of its events."""
    schema = script_schema()
    events = schema["properties"]["events"]["items"]["anyOf"][0]["properties"]
    rows = [
        [f"`{kind}`", options_of(event), plain(event["description"])]
        for kind, event in events.items()
        if kind != "at"
    ]
    made = table(["event", "fields; **needed**", "what happens"], rows)
    return "\n\n".join([*tables_of(schema, "Script"), "**Events**", made])


def changes_table():
    """Return a row for each kind of change in a scenario."""
    rows = [
        [f"`{name}`", fields_of(change), plain(inspect.getdoc(change).partition("\n\n")[0])]
        for name, change in CHANGES.items()
    ]
    return table(["change", "fields; **needed**", "effect"], rows).replace("``", "`")


def fields_of(change):
    """Return the fields of a change; exactly one of some may be needed."""
    schema = change.schema()
    choice = [name for part in schema.get("oneOf", ()) for name in part["required"]]
    rest = {name: field for name, field in schema["properties"].items() if name not in choice}
    options = options_of(schema | {"properties": rest})
    alone = f"**exactly one of** {', '.join(f'`{name}`' for name in choice)}" if choice else ""
    return "; ".join(filter(None, [alone, options]))


def forms_table():
    """Return a row for each form of each command of mqadmin that is read."""
    rows = [[f"`{form.command}`", f"{form.since} to {form.until}", form.note] for form in FORMATS]
    return table(["command", "RocketMQ", "form"], rows)


def tables_of(schema, title):
    """Yield the title and the table of a mapping, then those of the mappings in it."""
    fields = {name: field for name, field in schema["properties"].items() if name != "$schema"}
    rows = [
        [name_of(name, schema), type_of(field), plain(meaning_of(field))]
        for name, field in fields.items()
    ]
    yield from (f"**{title}**", table(HEADING, rows))
    for name, field in fields.items():
        for inner in mappings_in(field) if name not in SHOWN_ELSEWHERE else ():
            yield from tables_of(inner, f"{title}, `{name}`")


def name_of(name, schema):
    """Return the name of a field, marked where it must be given."""
    return f"**`{name}`**" if name in schema["required"] else f"`{name}`"


def meaning_of(field):
    """Return the description of a field, with its default."""
    default = field.get("default")
    if default in (None, []):
        return field["description"]
    return f"{field['description']} Default `{plain_default(default)}`."


def plain_default(default):
    """Return a default as a file has it."""
    return str(default).lower() if isinstance(default, bool) else default


def options_of(event):
    """Return the fields of an event, with their defaults; those that must be given are marked."""
    return ", ".join(
        name_of(name, event)
        + (f" ({plain_default(field['default'])})" if "default" in field else "")
        for name, field in event["properties"].items()
    )


def type_of(schema):
    """Return what a field may hold, in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(type_of, schema["anyOf"])))
    if len(schema.get("enum", ())) > MOST_WORDS:
        return "text"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "pattern" in schema and "ms|s|m|h" in schema["pattern"]:
        return "time"
    return TYPES[schema["type"]] if "type" in schema else "anything"


def mappings_in(schema):
    """Yield the mappings with fields of their own that a field may hold, directly or in a list."""
    if "properties" in schema:
        yield schema
    else:
        parts = [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]
        for part in filter(None, parts):
            yield from mappings_in(part) if isinstance(part, dict) else ()


def with_tables(page):
    """Return a page with the tables between its marks."""
    page = between(page, "fields", snapshot_tables())
    page = between(page, "script", script_tables())
    page = between(page, "changes", changes_table())
    return between(page, "forms", forms_table())


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
