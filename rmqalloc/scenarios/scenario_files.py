"""Scenarios from files, dictionaries and rows of tables, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from reprlib import repr as shown
from typing import Any

from rmqalloc.documents import Document, DocumentError, json_text, read_document
from rmqalloc.documents.document import parse
from rmqalloc.documents.fields import ScenarioError
from rmqalloc.documents.records import document_schema
from rmqalloc.documents.source import Source
from rmqalloc.scenarios.fixed_names import CURRENT
from rmqalloc.scenarios.scenario import Scenario


def read_scenarios(path: str | os.PathLike[str]) -> tuple[Scenario, ...]:
    """Read a file of scenarios.

    Parameters
    ----------
    path : path
        A YAML file (``.yaml``, ``.yml``; needs PyYAML) or a JSON file (any other name): a mapping
        with the one key ``scenarios``, a list of what `scenarios_of` takes.

    Raises
    ------
    OSError
        The file cannot be read.
    ScenarioError
        The file is not a scenario file; the message names the file, the line, the scenario and the
        field.
    ModuleNotFoundError
        A YAML file is given and PyYAML is not installed.
    """
    return _of_document(read_document(path, ScenarioError))


def scenarios_of_text(text: str, source: str = "scenarios") -> tuple[Scenario, ...]:
    """Read scenarios from text, such as a literal of SQL.

    Examples
    --------
    >>> [one.name for one in scenarios_of_text('[{"name": "8 pods", "changes": [{"scale_clients": {"to": 8}}]}]')]
    ['8 pods']
    >>> scenarios_of_text('{"scenarios": [{"name": "8 pods",\\n "changes": [{"scale": 8}]}]}')  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rmqalloc.documents.fields.ScenarioError: scenarios:2:... scenario '8 pods': ...
    """
    form = "json" if text.lstrip()[:1] in ("{", "[") else "yaml"
    document = parse(Source(source, text.encode(), ScenarioError), form)
    if isinstance(document.data, list):
        return scenarios_of(document.data, source)
    return _of_document(document)


def _of_document(document: Document) -> tuple[Scenario, ...]:
    """Read the scenarios that a document holds under its one key."""
    data = document.data
    try:
        if isinstance(data, Mapping) and list(data) == ["scenarios"]:
            return _scenarios(data["scenarios"])
        got = (
            f"a mapping of {', '.join(data) or 'nothing'}"
            if isinstance(data, Mapping)
            else shown(data)
        )
        raise ScenarioError(f"must be a mapping with the one key scenarios, got {got}")
    except ScenarioError as error:
        raise document.located(error) from None


def scenarios_of(rows: Iterable[Any], source: str = "scenarios") -> tuple[Scenario, ...]:
    """Read scenarios from plain data or from rows of a table.

    Parameters
    ----------
    rows : iterable of mapping or Scenario
        Mappings as `Scenario.to_data` makes them. Null fields count as left out, and ``changes``
        may be JSON text.
    source : str
        Name of the source in errors, such as the file.

    Raises
    ------
    ScenarioError
        A scenario is wrong, there is none, or two have the same name.

    Examples
    --------
    >>> [one.name for one in scenarios_of([{"name": "8 pods", "changes": [{"scale_clients": {"to": 8}}]}])]
    ['8 pods']
    """
    try:
        return _scenarios(rows)
    except ScenarioError as error:
        raise error.under(f"{source}:") from None


def _scenarios(rows: Any) -> tuple[Scenario, ...]:
    """Read the scenarios under the one key of a file; an error has the parts of its place in such a
    file.
    """
    here = ("scenarios",)
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ScenarioError(f"must be a list of scenarios, got {shown(rows)}", here, "")
    scenarios = tuple(_scenario(row, i) for i, row in enumerate(rows))
    if not scenarios:
        raise ScenarioError("contains no scenario; give at least one", here, "")
    seen: dict[str, int] = {}
    for i, one in enumerate(scenarios):
        if seen.setdefault(one.name, i) != i:
            raise ScenarioError(
                f"scenarios {seen[one.name] + 1} and {i + 1} are both named {shown(one.name)}; give each scenario its own name",
                (*here, i, "name"),
                "",
            )
    return scenarios


def _scenario(row: Any, i: int) -> Scenario:
    """Read one scenario; an error gives its name, or its place if it has none."""
    if isinstance(row, Scenario):
        return row
    name = row.get("name") if isinstance(row, Mapping) else None
    called = shown(name) if isinstance(name, str) and name else f"number {i + 1}"
    try:
        if isinstance(row, Mapping) and isinstance(row.get("changes"), str):
            row = {**row, "changes": _changes_text(row["changes"])}
        scenario: Scenario = Scenario.of(row)
    except ScenarioError as error:
        colon = ":" if error.place else ""
        raise error.under(f"scenario {called}{colon}", "scenarios", i) from None
    return scenario


def _changes_text(text: str) -> Any:
    try:
        return json_text.loads(text)
    except DocumentError as error:
        raise ScenarioError(
            f"must be a list of changes, or one as JSON text: {error}", "changes"
        ) from None


def to_data(scenarios: Iterable[Scenario]) -> dict[str, Any]:
    """Return the content of a file of these scenarios, for ``json.dump`` or ``yaml.safe_dump``."""
    return {"scenarios": [one.to_data() for one in scenarios]}


def scenarios_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of scenarios, for editors and programs."""
    one = Scenario.schema()
    one["properties"]["name"]["not"] = {"const": CURRENT}
    body = {"scenarios": {"type": "array", "items": one, "minItems": 1}}
    made = {
        "type": "object",
        "properties": body,
        "required": ["scenarios"],
        "additionalProperties": False,
    }
    return document_schema("Scenarios of rmqalloc", made)
