"""What a value breaks of a JSON Schema, for the parts of JSON Schema that ours use."""

import re

KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
_OF_VALUES = (
    "$schema $defs $ref title description default type enum const anyOf oneOf not minimum maximum"
)
_OF_PARTS = "properties required additionalProperties minProperties maxProperties items minItems minLength pattern"
KNOWN = {*_OF_VALUES.split(), *_OF_PARTS.split()}


def faults(value, schema, root, at="$"):
    """Every fault with its place; nothing if the value is as the schema says."""
    assert schema.keys() <= KNOWN, f"{schema.keys() - KNOWN} are not checked here"
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [list(faults(value, one, root, at)) for one in schema["anyOf"]]
        yield from () if [] in tried else tried[0]
    if (
        "oneOf" in schema
        and sum(not list(faults(value, one, root, at)) for one in schema["oneOf"]) != 1
    ):
        yield f"{at}: oneOf"
    if "not" in schema and not list(faults(value, schema["not"], root, at)):
        yield f"{at}: not"
    if ("const" in schema and not is_same(value, schema["const"])) or (
        "enum" in schema and value not in schema["enum"]
    ):
        yield f"{at}: value"
    is_right = isinstance(value, KINDS.get(schema.get("type"), object)) and not isinstance(
        value, bool
    )
    if "type" in schema and is_right != (schema["type"] != "boolean"):
        yield f"{at}: {schema['type']}"
        return
    if "minimum" in schema and not schema["minimum"] <= value <= schema.get("maximum", value):
        yield f"{at}: range"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{at}: pattern"
    yield from size_faults(value, schema, at)
    yield from inner_faults(value, schema, root, at)


def is_same(value, const):
    """Whether they are one value of one type; false is not 0."""
    return value == const and isinstance(value, bool) == isinstance(const, bool)


def size_faults(value, schema, at):
    """Too little or too much in it."""
    for kind, least in (
        ("object", "minProperties"),
        ("array", "minItems"),
        ("string", "minLength"),
    ):
        if isinstance(value, KINDS[kind]) and len(value) < schema.get(least, 0):
            yield f"{at}: {least}"
    if isinstance(value, dict) and len(value) > schema.get("maxProperties", len(value)):
        yield f"{at}: maxProperties"


def inner_faults(value, schema, root, at):
    """What the parts of an object or an array break."""
    lacking = [
        name for name in schema.get("required", ()) if isinstance(value, dict) and name not in value
    ]
    yield from (f"{at}: {name} is missing" for name in lacking)
    for name, item in value.items() if isinstance(value, dict) else ():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
        yield from (
            [f"{at}.{name}: unknown"]
            if inner is False
            else faults(item, inner, root, f"{at}.{name}")
        )
    for item in value if isinstance(value, list) else ():
        yield from faults(item, schema.get("items", {}), root, f"{at}[]")
