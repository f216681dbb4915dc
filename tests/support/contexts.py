"""A cluster of config.yaml, for tests that read one in a way that no flag says."""

from __future__ import annotations

import json
from pathlib import Path


def context(folder: Path, name_servers: str, **keys: object) -> dict[str, str]:
    """Write a configuration with one cluster to a folder; return the variables that name it."""
    place = folder / "rmqalloc"
    place.mkdir(parents=True, exist_ok=True)
    clusters = {"here": {"name_servers": name_servers, **keys}}
    (place / "config.yaml").write_text(json.dumps({"contexts": clusters}))
    return {"XDG_CONFIG_HOME": str(folder), "RMQALLOC_CONTEXT": "here"}


def use_context(monkeypatch, folder: Path, name_servers: str, **keys: object) -> None:
    """Write a configuration with one cluster to a folder, and let every verb read that cluster."""
    for name, value in context(folder, name_servers, **keys).items():
        monkeypatch.setenv(name, value)
