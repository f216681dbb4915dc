"""Every reader of what comes from outside as a target: an input may be read, or end in the reader's
own error.

Readers, right files and structured changes are those of the seeded fuzz (`fuzz.readers`,
`fuzz.wire`); here coverage decides which inputs are kept and changed further.
"""

import gzip
import json
import os
import tempfile
import zlib
from pathlib import Path
from random import Random

import certified_plans
import plan_mutations
from document_kinds import ROOMS

from fuzz import mutations as change
from fuzz import readers, wire
from fuzz.guided.target import Target, slug
from fuzz.readers import READERS, Reader
from rmqalloc.evidence import read_rooms
from rmqalloc.evidence.given_rooms import RoomsFileError
from rmqalloc.plans import PlanError, verify
from rmqalloc.remoting import loose_json
from rmqalloc.snapshot import examples

HOME = Path(
    tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
)
BODIES = list(wire.SEEDS)


def _verified(path):
    str(verify(path))


MORE = {
    "certified plan": Reader("p.json", lambda _: b"", _verified, (PlanError,)),
    "machine rooms": Reader("r.json", lambda _: b"", read_rooms, (RoomsFileError,)),
}


def reading(name, reader):
    """What reads one input from a file."""
    folder = HOME / slug(name)
    folder.mkdir(exist_ok=True)
    path = folder / reader.file

    def read(data):
        path.write_bytes(data)
        try:
            reader.read(str(path))
        except reader.errors as error:
            str(error)

    return read


def read_frame(data):
    """A frame without its leading length, as a connection reads it."""
    try:
        wire.read_frame(data)
    except wire.EXPECTED as error:
        str(error)


def read_body(data):
    """A body; its first byte says what it answers."""
    try:
        wire.read_body(BODIES[data[0] % len(BODIES)] if data else BODIES[0], data[1:])
    except wire.EXPECTED as error:
        str(error)


def read_loose(data):
    """What is read is what the tolerant parser reads, and what the standard library reads where
    that can.
    """
    try:
        found = loose_json.loads(data)
    except loose_json.JsonError as error:
        str(error)
        return
    text = data.decode()
    if repr(loose_json.tolerant(text)) != repr(found):
        raise AssertionError("the two ways of reading differ")
    try:
        strict = json.loads(text)
    except ValueError:
        return
    if repr(strict) != repr(found):
        raise AssertionError("the standard library reads something else")


# --- Changes ---


def changed_json(data, random, tokens=change.TOKENS):
    """One or more places of the data changed, or of the text if that is no JSON."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return change.changed_text(text, random, tokens).encode("utf-8", "surrogateescape")
    return change.json_text(change.changed_data(parsed, random), random).encode("utf-8", "replace")


def changed_lines(data, random, tokens):
    """Lines left out, repeated, swapped and changed."""
    text = data.decode("utf-8", "surrogateescape")
    return change.changed_lines(text, random, tokens).encode(
        "utf-8", "surrogatepass" if random.random() < 0.1 else "replace"
    )


def changed_yaml(data, random):
    """By its lines, or by its data where it is JSON, too."""
    tokens = [*change.TOKENS, *change.YAML_TOKENS]
    return (
        changed_json(data, random, tokens)
        if random.random() < 0.4
        else changed_lines(data, random, tokens)
    )


def changed_plan(data, random):
    """One time in two with the hash of what it says then."""
    made = changed_json(data, random)
    if random.random() < 0.5:
        try:
            plan = json.loads(made)
            plan["digest"] = readers.hash_of(plan)
            return json.dumps(plan).encode()
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return made
    return made


def changed_certified(data, random):
    """A change anywhere, and the digest of what it says then, without which nothing is looked at."""
    try:
        plan = json.loads(data)
        plan = (
            change.changed_data(plan, random)
            if random.random() < 0.4
            else plan_mutations.mutated(plan, random)[0]
        )
        return json.dumps(plan_mutations.rehashed(plan), separators=(",", ":")).encode()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        return changed_json(data, random)


def changed_packed(data, random):
    """What is packed is changed, then at times the bytes."""
    try:
        made = gzip.compress(changed_plan(gzip.decompress(data), random), 1, mtime=0)
    except (OSError, EOFError, ValueError, zlib.error):
        made = data
    return change.changed_bytes(made, random) if random.random() < 0.4 else made


def changed_body(data, random):
    """The first byte stays, the rest is changed by structure."""
    text = data[1:].decode("utf-8", "replace")
    return data[:1] + wire.changed(text, random)


def changed_frame(data, random):
    """A frame made anew by structure, or bytes of one changed."""
    return (
        next(wire.frames(random)) if random.random() < 0.2 else change.changed_bytes(data, random)
    )


def _by_file(name, file):
    """How files of a kind are changed."""
    if name in ("plan", "plan, packed", "certified plan"):
        return {"plan": changed_plan, "plan, packed": changed_packed}.get(name, changed_certified)
    if name == "mqadmin's text":
        return lambda data, random: changed_lines(data, random, readers._MQADMIN_TOKENS)
    if file.endswith((".yaml", ".yml")):
        return changed_yaml
    if file.endswith(".parquet"):
        return change.changed_bytes
    if file.endswith((".csv", "clients")):
        return lambda data, random: changed_lines(
            data, random, [*change.TOKENS, ",", ";", '""', "\r"]
        )
    return changed_json


# --- Seeds: right files ---


def _json(data):
    return json.dumps(data).encode()


def _shipped(kind, ending):
    folder = Path(examples.__file__).parent / kind
    return {
        path.stem: path.read_bytes()
        for path in sorted(folder.glob(f"*{ending}"))
        if path.stat().st_size < 6000
    }


def _certified():
    found = {}
    for name in certified_plans.PLANS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = Path(certified_plans.saved(name, Path(folder))[0]).read_bytes()
    return found


def _table():
    random = Random(1)
    header = ",".join(readers.COLUMNS)
    lines = [",".join(_cell(row.get(name)) for name in readers.COLUMNS) for row in readers.ROWS]
    return {
        "csv": "\n".join([header, *lines]).encode(),
        "parquet": readers._packed_rows(readers.ROWS, random),
    }


def _cell(value):
    return "" if value is None else f'"{value}"'


def seeds(name):
    """Right files of a reader."""
    mqadmin = {
        f"mqadmin-{i}": text.encode() for i, text in enumerate(readers._MQADMIN) if len(text) < 2200
    }
    plan = json.dumps(readers.PLAN).encode()
    document, table = _json(readers.DOCUMENT), _table()
    return {
        "snapshot, JSON": lambda: {"right": document},
        "snapshot, YAML": lambda: {
            "right": readers._block(readers.DOCUMENT).encode(),
            **_shipped("snapshots", ".yaml"),
        },
        "snapshot, CSV": lambda: {"right": table["csv"]},
        "snapshot, Parquet": lambda: {"right": table["parquet"]},
        "mqadmin's text": lambda: mqadmin,
        "any form, told by content": lambda: {
            "json": document,
            "csv": table["csv"],
            "mqadmin": mqadmin["mqadmin-5"],
        },
        "plan": lambda: {"right": plan},
        "plan, packed": lambda: {"right": gzip.compress(plan, 9, mtime=0)},
        "scenarios, JSON": lambda: {"right": _json(readers.SCENARIOS)},
        "scenarios, YAML": lambda: {
            "right": _json(readers.SCENARIOS),
            **_shipped("scenarios", ".yaml"),
        },
        "simulation": lambda: {"right": _json(readers.SIMULATION)},
        "simulation, YAML": lambda: {
            "right": _json(readers.SIMULATION),
            **_shipped("simulations", ".yaml"),
        },
        "gates": lambda: {"right": _json(readers.GATES)},
        "gates, YAML": lambda: {"right": readers._block(readers.GATES).encode()},
        "credentials": lambda: {"right": readers._block(readers.KEYS).encode()},
        "offsets": lambda: {"right": readers._OFFSETS.encode()},
        "list of clients": lambda: {"right": "10.0.0.1@1\n订单@2\r\n3\n".encode()},
        "marker of a directory": lambda: {"right": _json({"tool": "rmqalloc", "kind": "plans"})},
        "certified plan": _certified,
        "machine rooms": lambda: {"right": _json(ROOMS)},
    }[name]()


def _of_reader(name, reader):
    return Target(
        slug(name),
        reading(name, reader),
        lambda: seeds(name),
        _by_file(name, reader.file),
        about=name,
    )


def _frames():
    random = Random(5)
    return {f"frame-{i}": next(wire.frames(random)) for i in range(8)}


def _bodies():
    return {slug(name): bytes([i]) + wire.SEEDS[name][0].encode() for i, name in enumerate(BODIES)}


TARGETS = [
    *(_of_reader(name, reader) for name, reader in (READERS | MORE).items()),
    Target("wire-frames", read_frame, _frames, changed_frame, about="frames of the wire"),
    Target("wire-bodies", read_body, _bodies, changed_body, about="bodies of the wire"),
    Target(
        "tolerant-json", read_loose, lambda: {name: data[1:] for name, data in _bodies().items()},
        lambda data, random: changed_body(b"\0" + data, random)[1:], about="the tolerant JSON reader",
    ),
]  # fmt: skip
