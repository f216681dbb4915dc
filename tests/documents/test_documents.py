"""Files that people write: one dialect, whatever they hold, in YAML and in JSON; what is wrong
names line and column.
"""

import ast
import json
import re

import pytest
import yaml
from checkout import ROOT
from document_kinds import KINDS, STYLES, at, mappings, marked, with_key_twice, with_value
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from interpreter import run_python

from rmqalloc.documents import (
    DocumentError,
    Source,
    TextError,
    json_text,
    parse,
    path_text,
    yaml_text,
)
from rmqalloc.plans import PlanError, load_plan, plan_snapshot, save_plan
from rmqalloc.remoting.credentials import CredentialsError, read_credentials
from rmqalloc.scenarios import ScenarioError, read_scenarios, scenarios_of
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.plain_data import SnapshotError

kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
styles = pytest.mark.parametrize("style", STYLES)
forms = pytest.mark.parametrize("form", ["yaml", "json"])


def outcome(kind, path, text):
    """What reading comes to: the value, or the error without its place in the file."""
    path.write_text(text, encoding="utf-8")
    try:
        return kind.read(path)
    except kind.error as error:
        name, _, said = str(error).partition(f"{path}:")
        return f"{name}{re.sub(r'^[0-9]+:[0-9]+: ', '', said)}"


EVERY_KEY = [
    pytest.param(kind, parts, key, id=f"{kind}-{path_text((*parts, key))}")
    for kind in KINDS
    for parts in mappings(kind.right)
    for key in at(kind.right, parts)
]


# --- Keys that are given twice ---


@styles
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "other"])
@pytest.mark.parametrize(("kind", "parts", "key"), EVERY_KEY)
def test_any_key_given_twice_is_refused_at_its_second_place(
    kind, parts, key, equal, style, tmp_path
):
    write, suffix = STYLES[style]
    value = at(kind.right, (*parts, key)) if equal else "other"
    text, line, column = marked(write(with_key_twice(kind.right, parts, key, value)).lstrip("\n"))
    path = tmp_path / f"document.{suffix}"
    path.write_text(text)
    with pytest.raises(kind.error) as error:
        kind.read(path)
    assert re.fullmatch(
        rf"{path}:{line}:{column}: key '{key}' is given twice, first in line \d+; give it once",
        str(error.value),
    )


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(
        [
            "on",
            "NO",
            "~",
            "",
            "<<",
            "=",
            "0x1F",
            "010",
            "1_000",
            "1e5",
            ".inf",
            "12:30",
            "2026-01-01",
            "\x85",
            "-",
        ]
    )
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["on", "no", "<<", "1", "null", "", "~", "a: b"]
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=25,
)
MAPPINGS = st.dictionaries(TEXT, DATA, min_size=1, max_size=5)


@pytest.mark.thorough(keep=1)
@styles
@given(data=st.data(), document=MAPPINGS)
@examples(150)
def test_any_key_given_twice_in_any_data_is_refused_at_its_second_place(style, data, document):
    parts = data.draw(st.sampled_from(list(mappings(document))))
    key = data.draw(st.sampled_from(list(at(document, parts))))
    write, form = STYLES[style]
    text, line, column = marked(
        write(with_key_twice(document, parts, key, data.draw(SCALARS))).lstrip("\n")
    )
    with pytest.raises(
        DocumentError,
        match=rf"^s:{line}:{column}: key '.*' is given twice, first in line \d+; give it once$",
    ):
        parse(Source("s", text.encode()), form)
    right = write(document).lstrip("\n")
    assert same(parse(Source("s", right.encode()), form).data, document)


@pytest.mark.parametrize(("form", "text", "place", "key"), [
    (json_text, '{"a": 1,"\\u0061": 2}', "1:9", "a"),
    (yaml_text, 'a: 1\n"\\x61": 2', "2:1", "a"),
    (yaml_text, "a: 1\n'a': 2", "2:1", "a"),
    (yaml_text, "&k a: 1\n*k : 2", "2:6", "a"),
    (yaml_text, "{? a : 1, b: 2, ?  a : 3}", "1:20", "a"),
    (yaml_text, "base: &b {a: 1,b: 2, a: 3}", "1:22", "a"),  # before it is merged
    (yaml_text, "base: &b {a: 1}\nc: {<<: *b,  <<: *b}", "2:14", "<<"),
])  # fmt: skip
def test_keys_are_equal_however_they_are_written(form, text, place, key):
    with pytest.raises(
        TextError, match=rf"^{place}: key '{key}' is given twice, first in line [12]"
    ):
        form.loads(text)


def test_a_key_that_is_long_or_not_printable_is_shown_harmless():
    with pytest.raises(TextError) as error:
        json_text.loads(
            json.dumps({"\x1b[2J" + "k" * 1000: 1})[:-1] + ', "\\u001b[2J' + "k" * 1000 + '": 2}'
        )
    assert str(error.value).startswith("1:1018: key '\\x1b[2Jkkk")
    assert len(str(error.value)) < 200


# --- One dialect ---


def same(one, other):
    """Equal, types included: 1 is not True, and 1.0 is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    "dump",
    [
        yaml_text.dump,
        lambda data: yaml.safe_dump(data, sort_keys=False),
        lambda data: yaml.safe_dump(data, sort_keys=False, default_flow_style=True),
        lambda data: yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, indent=4),
    ],
    ids=["ours", "PyYAML", "flow", "C"],
)
@given(data=DATA)
@examples(150)
def test_yaml_and_json_of_any_data_read_equal(dump, data):
    assert same(yaml_text.loads(dump(data)), data)
    assert same(json_text.loads(json.dumps(data)), data)
    assert same(json_text.loads(json.dumps(data, ensure_ascii=False, indent=1)), data)


@kinds
@given(data=DATA)
@examples(60)
def test_every_kind_reads_the_same_of_yaml_and_json(kind, data, tmp_path_factory):
    home = tmp_path_factory.getbasetemp()
    document = with_value(kind.right, kind.free, data)
    of_yaml = outcome(kind, home / "equal.yaml", yaml_text.dump(document))
    assert of_yaml == outcome(kind, home / "equal.json", json.dumps(document))


@kinds
@forms
def test_what_is_right_is_read(kind, form, tmp_path):
    path = tmp_path / f"right.{form.upper()}"
    text = json.dumps(kind.right, indent=2) if form == "json" else yaml_text.dump(kind.right)
    path.write_text(text)
    read = kind.read(path)
    assert kind.text_of(read) == at(kind.right, kind.text)
    for other in (
        b"\xef\xbb\xbf" + text.encode(),
        text.replace("\n", "\r\n").encode(),
        text.encode() + b"\n\n",
    ):
        path.write_bytes(other)
        assert kind.read(path) == read


WORDS = [
    "on", "On", "off", "yes", "Yes", "no", "y", "n", "010", "007", "0o17", "0x1F", "0b11", "1_000", "12:30", "12:30:45", "1e5",
    "1.5e3", "2026-01-01", "2026-01-01T00:00:00Z", ".inf", "-.INF", ".nan", "NaN", "Infinity", "=", "<<", "tRue",
]  # fmt: skip


@kinds
@pytest.mark.parametrize("word", WORDS)
def test_what_json_does_not_have_is_text_in_every_kind(kind, word, tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text(yaml_text.dump(with_value(kind.right, kind.text, "WORD")).replace("WORD", word))
    assert kind.text_of(kind.read(path)) == word


@pytest.mark.parametrize("kind", [one for one in KINDS if one.name != "credentials"], ids=str)
@pytest.mark.parametrize(
    "word", ["true", "False", "7", "+7", "-0", "1.5", "1.", "2.0e+3", "[a]", "{a: b}"]
)
def test_what_json_has_is_no_text_in_any_kind(kind, word, tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text(yaml_text.dump(with_value(kind.right, kind.text, "WORD")).replace("WORD", word))
    with pytest.raises(
        kind.error, match=rf"^{path}:\d+:\d+: .*name must be text( that is not empty)?, got"
    ):
        kind.read(path)


BOMB = "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)
])  # fmt: skip
CHAIN = "a0: &a0 [x]\n" + "\n".join(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 80))
MERGES = "b0: &b0 {" + ", ".join(f"k{i}: 1" for i in range(600)) + "}\n" + "\n".join(
    f"b{i}: &b{i} {{<<: [{', '.join([f'*b{i - 1}'] * 600)}]}}" for i in range(1, 4)
)  # fmt: skip


@kinds
@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        pytest.param("yaml", "a: 1\n--- \nb: 2\n",
                     ":2:1: not YAML: expected a single document in the stream, but found another",
                     id="yaml two documents"),
        ("yaml", "a: [1, 2\nb: 3\n", ":2:2: not YAML: did not find expected"),
        pytest.param("yaml", "a:\n\tb: 1\n",
                     ":2:1: not YAML: found character that cannot start any token", id="yaml a tab"),
        pytest.param("yaml", "a: !!set {b, c}\n",
                     ":1:4: tag 'tag:yaml.org,2002:set' is not supported; remove it", id="yaml !!set"),
        pytest.param("yaml", "a: !!timestamp 2026-01-01\n",
                     ":1:4: tag 'tag:yaml.org,2002:timestamp' is not supported", id="yaml !!timestamp"),
        pytest.param("yaml", "a: !!binary aGk=\n",
                     ":1:4: tag 'tag:yaml.org,2002:binary' is not supported", id="yaml !!binary"),
        pytest.param("yaml", "a: !!python/object/apply:os.system [ls]\n",
                     ":1:4: tag .* is not supported", id="yaml !!python"),
        ("yaml", "a: !ours b\n", ":1:4: tag '!ours' is not supported"),
        ("yaml", "a: !!int 0x10\n", ":1:4: not YAML: '0x10' is no int"),
        ("yaml", "a: !!bool on\n", ":1:4: not YAML: 'on' is no bool"),
        pytest.param("yaml", "a: !!map [b]\n",
                     ":1:4: not YAML: expected a mapping, got a sequence", id="yaml !!map of a list"),
        pytest.param("yaml", "a: !!seq {b: c}\n",
                     ":1:4: not YAML: expected a list, got a mapping", id="yaml !!seq of a mapping"),
        pytest.param("yaml", "a: !!float 1.0e+999\n",
                     ":1:4: '1.0e\\+999' is not a JSON number", id="yaml !!float 1.0e+999"),
        pytest.param("yaml", "a: b\n~: 1\n",
                     ":2:1: a key must be text, got '~'; put it in quotes", id="yaml a key of nothing"),
        ("yaml", "? [a]\n: 1\n", ":1:3: a key must be text, got a sequence"),
        pytest.param("yaml", "a: &a [*a]\n",
                     ":1:4: not YAML: found unconstructable recursive node", id="yaml a list in itself"),
        ("yaml", "a: *b\n", ":1:4: not YAML: found undefined alias"),
        ("yaml", "a: {<<: 3}\n", ":1:9: not YAML: << merges mappings, got '3'"),
        pytest.param("yaml", "a: {<<: [{b: 1}, c]}\n",
                     ":1:18: not YAML: << merges mappings, got 'c'", id="yaml a merge of a text"),
        ("yaml", "a: \x00\n", ":1: not YAML: .*#x0000"),
        pytest.param("yaml", "a: äöü€€€€€€€€\nb: \x07\n", ":2: not YAML: .*#x0007", id="yaml a control character"),
        pytest.param("yaml", "[" * 500, ":1:65: is nested deeper than 64 levels", id="yaml 500 lists"),
        pytest.param("yaml", "[" * 100_000, ":1:(65|1001): is nested deeper than 64 levels", id="yaml 100000 lists"),
        pytest.param("yaml", "- " * 100_000,
                     r":1:\d+: is nested deeper than 64 levels", id="yaml 100000 lists in blocks"),
        pytest.param("yaml", "{a: " * 1000, r":1:\d+: is nested deeper than 64 levels", id="yaml 1000 mappings"),
        pytest.param("yaml", BOMB, ": has more than 1000000 values; write it as JSON", id="yaml a bomb"),
        pytest.param("yaml", CHAIN, ": is nested deeper than 64 levels", id="yaml a chain"),
        pytest.param("yaml", MERGES, ": has more than 1000000 values; write it as JSON", id="yaml merges"),
        ("json", "", ":1:1: not JSON: Expecting value"),
        ("json", '{"a": 1} {"b": 2}', ":1:10: not JSON: Extra data"),
        ("json", '{"a": 1,\n b}', ":2:2: not JSON: Expecting property name"),
        ("json", '{"a":\n [NaN]}', ":2:3: NaN is not a JSON number"),
        pytest.param("json", '{"NaN": "NaN",\n "a": -Infinity}',
                     ":2:7: -Infinity is not a JSON number", id="json -Infinity"),
        ("json", '{"a": [1.5,\n 1e999]}', ":2:2: 1e999 is not a JSON number"),
        pytest.param("json", '{"a": "b",\n "c": "\\ud800"}',
                     ":2:7: text must be Unicode, got half a surrogate pair", id="json half a pair"),
        pytest.param("json", '{"a": "\\ud83d\\ude00\\ude00"}',
                     ":1:7: text must be Unicode, got half a surrogate pair", id="json a pair and a half"),
        ("json", '{"a": "b\tc"}', ":1:9: not JSON: Invalid control character"),
        pytest.param("json", "[" * 100_000, ":1:65: is nested deeper than 64 levels", id="json 100000 lists"),
        pytest.param("json", '{"a":' * 65 + "1" + "}" * 65,
                     ":1:321: is nested deeper than 64 levels", id="json 65 mappings"),
        pytest.param("json", f'[{"9" * 5000}]',
                     ":1:2: a whole number has at most 4300 digits, got 5000", id="json 5000 digits"),
    ],
)  # fmt: skip
def test_what_no_kind_takes(kind, form, text, said, tmp_path):
    path = tmp_path / f"wrong.{form}"
    path.write_text(text)
    with pytest.raises(kind.error, match=rf"^{path}{said}"):
        kind.read(path)


@kinds
@forms
def test_text_that_is_not_utf_8_is_named(kind, form, tmp_path):
    path = tmp_path / f"wrong.{form}"
    path.write_bytes('{"a":\n "é"}'.encode("latin-1"))
    with pytest.raises(
        kind.error, match=rf"^{path}:2: byte 8 \(0xe9\) is not UTF-8; save the file as UTF-8"
    ):
        kind.read(path)
    path.write_bytes("\ufeff{}".encode("utf-16-le"))
    with pytest.raises(kind.error, match=rf"^{path} is UTF-16 text; save it as UTF-8"):
        kind.read(path)


@kinds
@pytest.mark.parametrize("data", ["x", 3, None, [], ["x"]])
def test_data_that_is_no_mapping_is_refused_alike(kind, data, tmp_path):
    said = {
        outcome(kind, tmp_path / f"s.{form}", dump(data))
        for form, dump in (("yaml", yaml.safe_dump), ("json", json.dumps))
    }
    assert len(said) == 1
    assert re.search("must be|is an object with", *said)


def test_long_numbers_are_numbers_in_both():
    for text in ("9" * 4300, "-" + "1" * 41, "0." + "3" * 500):
        assert same(yaml_text.loads(text), json_text.loads(text))
    with pytest.raises(TextError, match=r"^1:1: a whole number has at most 4300 digits, got 4301"):
        yaml_text.loads("9" * 4301)


# --- Merges and aliases ---


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{<<: {a: 1, b: 2}, b: 3}", {"a": 1, "b": 3}),
        ("{b: 3, <<: {a: 1, b: 2}}", {"a": 1, "b": 3}),
        ("{<<: [{a: 1}, {a: 2, b: 2}]}", {"a": 1, "b": 2}),
        ("{<<: {<<: {a: 1}, b: 2}, c: 3}", {"a": 1, "b": 2, "c": 3}),
        ("{'<<': {a: 1}}", {"<<": {"a": 1}}),
        ("[&x {a: 1}, {<<: *x}, *x]", [{"a": 1}] * 3),
        (
            "{a: {b: &x {k: 1}}, c: {<<: *x}}",
            {"a": {"b": {"k": 1}}, "c": {"k": 1}},
        ),  # once merged while it was empty
    ],
)
def test_a_merge_brings_what_the_mapping_does_not_give(text, data):
    assert yaml_text.loads(text) == data
    if "'<<'" not in text:
        assert yaml.safe_load(text) == data


def test_what_was_written_once_serves_several_parts_of_a_file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("""scenarios:
- {name: a, changes: [scale_clients: &to {to: 3}], groups: &g [x, y]}
- {name: b, changes: [scale_clients: {<<: *to, name: 'p{n}'}], groups: *g}
""")
    first, second = read_scenarios(path)
    assert (first.changes[0].to, second.changes[0].to, second.changes[0].name) == (3, 3, "p{n}")
    assert first.groups == second.groups == ("x", "y")
    path.write_text(path.read_text().replace("to: 3", "to: -3"))
    with pytest.raises(
        ScenarioError, match=r"s.yaml:2:47: scenario 'a': changes\[0\].scale_clients.to must be"
    ):
        read_scenarios(path)


@pytest.mark.parametrize(
    ("text", "parts", "place"),
    [
        ("a: &a {b: 1}\nc:\n  <<: *a\n", ("c", "b"), (1, 11)),
        ("a: {b: 1}\nc:\n  <<: [{x: 1}, {b: 2}]\n", ("c", "b"), (3, 20)),
        ("a: {b: 1}\n", ("a", "c", "d"), (1, 4)),
        ("a: [1, 2]\n", ("a", 7), (1, 4)),
        ("a: [1,\n 2]\n", ("a", 1), (2, 2)),
        ("a: x\n", ("a", "b"), (1, 4)),
        ("a: x\n", (0,), (1, 1)),
        ("- x\n", ("a",), (1, 1)),
        ("# nothing\n", ("a",), (1, 1)),
        ("{<<: {a: 1}, '<<': 2}", ("<<",), (1, 20)),
    ],
)
def test_places_in_yaml(text, parts, place):
    assert yaml_text.place(text, parts) == place


# --- JSON inside other files, and what is no document but must not lose a key ---


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_a_saved_plan_with_a_key_given_twice_is_refused(suffix, tmp_path):
    import gzip

    path = tmp_path / f"plan.{suffix}"
    save_plan(
        plan_snapshot(read_snapshot(str(ROOT / "examples" / "snapshots" / "seed.yaml")), []), path
    )
    pack, unpack = (gzip.compress, gzip.decompress) if suffix.endswith("gz") else (bytes, bytes)
    text = unpack(path.read_bytes())
    load_plan(path)
    path.write_bytes(pack(text.replace(b'"kind":', b'"kind":"Other","kind":')))
    with pytest.raises(
        PlanError, match=rf"{path} is not a plan: 1:\d+: key 'kind' is given twice, first in line 1"
    ):
        load_plan(path)


def test_changes_as_text_with_a_key_given_twice_are_refused():
    rows = [{"name": "x", "changes": '[{"scale_clients": {"to": 3, "to": 4}}]'}]
    with pytest.raises(
        ScenarioError,
        match=r"t: scenario 'x': changes must be .* JSON text: 1:30: key 'to' is given twice",
    ):
        scenarios_of(rows, "t")


def test_parameters_in_a_cell_with_a_key_given_twice_are_refused(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text('group,strategy_params\ng,"{""virtual_nodes"": 3, ""virtual_nodes"": 160}"\n')
    with pytest.raises(
        SnapshotError,
        match=r"s.csv: strategy_params must be a JSON object: 1:22: key 'virtual_nodes' is given",
    ):
        read_snapshot(str(path))


# --- Credentials ---


@pytest.mark.parametrize("secret", ["12345678", "012345", "1.50", "true", "0x10", "1e5", "+7"])
@pytest.mark.parametrize("name", ["tools.yml", "acl.conf", "acl"])
def test_a_secret_is_the_text_that_stands_there(secret, name, tmp_path):
    path = tmp_path / name
    path.write_text(f"accessKey: 0042 # RocketMQ's\nsecretKey: {secret}\nsecurityToken:\n")
    credentials = read_credentials(path)
    assert (credentials.access_key, credentials.secret_key, credentials.security_token) == (
        "0042",
        secret,
        None,
    )


@pytest.mark.parametrize("name", ["tools.yml", "acl.conf", "acl", "acl.json"])
def test_no_message_shows_a_secret(name, tmp_path):
    path = tmp_path / name
    secret = '"accessKey": "a", "secretKey": "hidden"'
    for text in (
        '{"accessKey": "a", "secretKey": ["hidden"]}',
        f'{{{secret}, "secretKey": "hidden2"}}',
        '["hidden"]',
        f'{{{secret}, "b": "hidden": "hidden"}}',
    ):
        path.write_text(text)
        with pytest.raises(CredentialsError) as error:
            read_credentials(path)
        assert str(error.value).startswith(f"{path}:1:")
        assert "hidden" not in str(error.value)


# --- Nobody reads on their own ---

MACHINE_LINES = {
    "documents/json_text.py", "documents/yaml_text.py",
    "remoting/frames.py", "remoting/loose_json.py",  # bodies and headers of servers
    "rebalance/_offset_file.py",  # what clients keep, in a JSON of their own
    "plans/_explain.py", "evidence/evidence.py", "report/html/_evidence_section.py",  # columns that we filled
    "plans/_unit_rows.py", "plans/_ways_back.py",  # the same
    "job/_on_worker.py", "job/_plan_kernels.py",  # a Spark job's own notes
    "history/_kept_states.py",  # documents of ours in the file of a history
    "service/mcp/_stdio.py",  # lines of an assistant
}  # fmt: skip
"""Modules that read JSON or YAML and no file that people write, and the two that read those."""

READERS = {
    *(("json", name) for name in ("load", "loads", "JSONDecoder")),
    *(
        ("yaml", name)
        for name in (
            "load",
            "load_all",
            "safe_load",
            "safe_load_all",
            "full_load",
            "unsafe_load",
            "compose",
        )
    ),
}


def reads_on_its_own(source):
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (node.value.id, node.attr) in READERS
        ):
            return True
        if isinstance(node, ast.ImportFrom) and any(
            (node.module, name.name) in READERS for name in node.names
        ):
            return True
    return False


@pytest.mark.thorough
def test_files_that_people_write_are_read_in_one_room():
    """A new one goes through `rmqalloc.documents`; what no person writes is named in MACHINE_LINES."""
    assert reads_on_its_own("from yaml import safe_load") and reads_on_its_own(
        "import json\nx = json.loads('1')"
    )
    found = set()
    for package in ("rmqalloc", "spark_udfs"):
        for path in (ROOT / package).rglob("*.py"):
            if reads_on_its_own(path.read_text(encoding="utf-8")):
                found.add(path.relative_to(ROOT / package).as_posix())
    assert found == MACHINE_LINES


def test_the_python_reader_of_yaml_says_the_same():
    """Where PyYAML was built without its C library."""
    script = """
import yaml
del yaml.CSafeLoader, yaml.CSafeDumper
from rmqalloc.documents import yaml_text
print(yaml_text.loads(yaml_text.dump({"on": ["no", "010", 10, 1.5, None, True, {"a": "b"}]})))
print(yaml_text.loads("{<<: {a: 1, b: 2}, b: 3}"))
try:
    yaml_text.loads("a: {b: 1,\\n b: 2}")
except ValueError as error:
    print(error)
"""
    lines = run_python(script)
    assert " ".join(lines) == (
        "{'on': ['no', '010', 10, 1.5, None, True, {'a': 'b'}]} {'a': 1, 'b': 3} "
        "2:2: key 'b' is given twice, first in line 1; give it once"
    )
