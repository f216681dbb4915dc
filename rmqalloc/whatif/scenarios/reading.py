"""Scenarios from files, dictionaries and rows of tables, and back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from rmqalloc.whatif.scenarios.fields import ScenarioError
from rmqalloc.whatif.scenarios.model import CURRENT, Scenario

YAML_SUFFIXES = (".yaml", ".yml")


def read_scenarios(path: str | os.PathLike[str]) -> tuple[Scenario, ...]:
    """Read a file of scenarios.

    Parameters
    ----------
    path : path
        A YAML file (``.yaml``, ``.yml``; needs PyYAML) or a JSON file (any other name): a mapping with the one key
        ``scenarios``, a list of what `scenarios_of` takes.

    Raises
    ------
    OSError
        The file cannot be read.
    ScenarioError
        It is not such a file; the message names the file, the scenario and the field.
    ModuleNotFoundError
        A YAML file is given and PyYAML is not installed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = _parsed(text, yaml=Path(path).suffix.lower() in YAML_SUFFIXES)
    except RecursionError:
        raise ScenarioError("is nested too deeply", f"{path}:") from None
    except ValueError as error:
        raise ScenarioError(f"cannot be read: {error}", f"{path}:") from None
    if not isinstance(data, Mapping) or list(data) != ["scenarios"]:
        got = f"a mapping of {', '.join(map(str, data)) or 'nothing'}" if isinstance(data, Mapping) else shown(data)
        raise ScenarioError(f"must be a mapping with the one key scenarios, got {got}", f"{path}:")
    return scenarios_of(data["scenarios"], str(path))


def _parsed(text: str, yaml: bool) -> Any:
    """Data of a JSON or YAML text; ValueError if it is none."""
    if not yaml:
        return json.loads(text)
    from yaml import safe_load

    try:
        return safe_load(text)
    except RecursionError:
        raise
    except Exception as error:  # besides its own errors it lets out KeyError, IndexError and others for odd tags
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from None


def scenarios_of(rows: Iterable[Any], source: str = "scenarios") -> tuple[Scenario, ...]:
    """Scenarios from plain data or from rows of a table.

    Parameters
    ----------
    rows : iterable of mapping or Scenario
        Mappings as `Scenario.to_data` makes them. Null fields count as left out, and ``changes`` may be JSON text.
    source : str
        What to call it in errors, e.g. the file.

    Raises
    ------
    ScenarioError
        A scenario is wrong, there is none, or two have one name.

    Examples
    --------
    >>> [one.name for one in scenarios_of([{"name": "8 pods", "changes": [{"scale_clients": {"to": 8}}]}])]
    ['8 pods']
    """
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ScenarioError(f"must be a list of scenarios, got {shown(rows)}", f"{source}:")
    scenarios = tuple(_scenario(row, i, source) for i, row in enumerate(rows))
    if not scenarios:
        raise ScenarioError("holds no scenario; give at least one", f"{source}:")
    seen: dict[str, int] = {}
    for i, one in enumerate(scenarios):
        if seen.setdefault(one.name, i) != i:
            raise ScenarioError(
                f"scenarios {seen[one.name] + 1} and {i + 1} are both named {shown(one.name)}; give each a name of its own",
                f"{source}:",
            )
    return scenarios


def _scenario(row: Any, place: int, source: str) -> Scenario:
    """One scenario; an error names it by its name, or by its place if it has none."""
    if isinstance(row, Scenario):
        return row
    name = row.get("name") if isinstance(row, Mapping) else None
    called = shown(name) if isinstance(name, str) and name else f"number {place + 1}"
    try:
        if isinstance(row, Mapping) and isinstance(row.get("changes"), str):
            row = {**row, "changes": _changes_text(row["changes"])}
        scenario: Scenario = Scenario.of(row)
    except ScenarioError as error:
        raise error.inside(f"{source}: scenario {called}", ": ") from None
    return scenario


def _changes_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"must be a list of changes, or one as JSON text: {error}", "changes") from None


def to_data(scenarios: Iterable[Scenario]) -> dict[str, Any]:
    """What a file of these scenarios holds, ready for ``json.dump`` or ``yaml.safe_dump``."""
    return {"scenarios": [one.to_data() for one in scenarios]}


def json_schema() -> dict[str, Any]:
    """JSON Schema of a file of scenarios, for editors and other programs."""
    one = Scenario.schema()
    one["properties"]["name"]["not"] = {"const": CURRENT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenarios of rmqalloc",
        "type": "object",
        "properties": {"scenarios": {"type": "array", "items": one, "minItems": 1}},
        "required": ["scenarios"],
        "additionalProperties": False,
    }
