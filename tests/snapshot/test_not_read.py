"""What is not read is named: samples of each kind, as tools print them, whole and in part."""

import gzip
import io
import tarfile
import time
import zipfile
from typing import NamedTuple

import pytest
from checkout import DATA, ROOT
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.snapshot.files.outputs._kinds_not_read import KINDS
from rmqalloc.snapshot.files.outputs._not_read import (
    is_noise,
    not_read,
    not_read_bytes,
    recognised,
    recognised_bytes,
)


class Sample(NamedTuple):
    what: str
    text: str
    is_whole: bool  # its middle alone shows nothing of its kind


def samples():
    for part in (DATA / "not_read" / "samples.txt").read_text().split("=== ")[1:]:
        head, _, text = part.partition("\n")
        what, _, how = head.partition(" | ")
        yield Sample(what, text, how == "whole")


SAMPLES = list(samples())
NEED_NO_SAMPLE = {kind.what for kind in KINDS if not (kind.line or kind.mark or kind.words)}


def middle(text, size=5):
    lines = text.rstrip("\n").split("\n")
    start = max(0, (len(lines) - size) // 2)
    return "\n".join(lines[start : start + size])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.what)
def test_each_sample_is_of_its_kind(sample):
    assert recognised(sample.text).what == sample.what
    assert recognised("\ufeff" + sample.text.replace("\n", "\r\n")).what == sample.what
    if not sample.is_whole:
        assert recognised(middle(sample.text)).what == sample.what


def test_each_kind_has_a_sample():
    assert {kind.what for kind in KINDS} - NEED_NO_SAMPLE <= {sample.what for sample in SAMPLES}
    assert len(SAMPLES) > 120


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.what)
def test_a_sentence_names_a_command_or_a_remedy_and_repeats_no_secret(sample):
    sentence = not_read(sample.text)
    assert sentence.startswith(f"this is {sample.what}")
    assert len(sentence) < 400 and sentence.isprintable() and not sentence.endswith("; ")
    assert "hunter2" not in sentence


def readable():
    folders = [DATA / "mqadmin", DATA / "cases" / "mqadmin-right", DATA / "snapshots-0.1.0"]
    folders.append(ROOT / "rmqalloc" / "snapshot" / "examples" / "snapshots")
    not_outputs = {"owns.json", "clients.tsv"}  # facts for a test; refused, its columns listed
    refused = {"c21", "c39"}  # other encodings, a table without its head
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    for path in sorted(files):
        is_output = path.name not in not_outputs and not path.name.startswith("RIGHT")
        if is_output and path.parent.name not in refused:
            yield path


@pytest.mark.parametrize("path", list(readable()), ids=lambda path: "/".join(path.parts[-3:]))
def test_what_is_read_is_not_recognised(path):
    assert recognised_bytes(path.read_bytes(), str(path)) is None


def test_a_readable_head_is_enough():
    text = (
        "2026-01-01 00:00:00 INFO main - started\n#ClientId   #ClientAddr   #Language  #Version\n"
    )
    assert recognised(text) is None
    assert "give that output whole" in not_read(text)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("store/config/consumerOffset.json", "consumerOffset.json of a broker's store"),
        ("consumerOffset.json.bak", "consumerOffset.json of a broker's store"),
        ("broker.log", "the log of a broker (broker.log)"),
        ("plain_acl.yml", "a file of access keys (tools.yml, plain_acl.yml)"),
        ("00000000001073741824", "a file of a broker's store that is no text"),
        ("orders.txt", None),
    ],
)
def test_a_name_decides_where_the_content_does_not(name, what):
    found = recognised("0:100,1:101", name)
    assert (found is None) if what is None else found.what.startswith(what)
    assert recognised("Consume TPS: 0.80\nsh: mqadmin: command not found", name).what == (
        "a shell's error: mqadmin was not found"
    )


def packed(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def zip_with(name):
    def write(file):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, "x")

    return packed(write)


def tar(file):
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"), io.BytesIO())


SQLITE = b"SQLite format 3\0".ljust(68, b"\1")
BINARY = {
    "a file packed by gzip": gzip.compress(b"x"),
    "a zip file": zip_with("a.txt"),
    "a workbook of a spreadsheet (xlsx)": zip_with("xl/workbook.xml"),
    "a tar file": packed(tar),
    "a PDF": b"%PDF-1.7\nall of it may be text\n",
    "an image, such as a screenshot": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "a history of rmqalloc serve": SQLITE + b"rmqa\0",
    "a database of SQLite": SQLITE + b"\0\0\0\0\0",
    "a Parquet file that is damaged, or given together with other files": b"PAR1\x15\4",
    "a recording of network packets (pcap)": b"\xd4\xc3\xb2\xa1\2\0\4\0",
    "a dump of a JVM's heap (hprof) or its flight recording (jfr)": b"JAVA PROFILE 1.0.2\0",
    "a commit log of a broker's store": b"\0\0\1\0\xda\xa3\x20\xa7\0\0",
    "text in UTF-16": "#Topic".encode("utf-16"),
    "text in UTF-16LE": "#Topic".encode("utf-16-le"),
    "text in GB18030": "订单积压了 orders".encode("gbk"),
    "text in ISO-8859-1": "café, naïve orders, déjà vu".encode("latin-1"),
}


@pytest.mark.parametrize("what", BINARY)
def test_what_is_no_text_is_named(what):
    assert recognised_bytes(BINARY[what]).what == what
    assert not_read_bytes(BINARY[what]).startswith(f"this is {what}; ")


def test_text_in_bytes_is_text_although_its_last_character_is_cut():
    data = "sh: mqadmin: command not found\n订单".encode()
    found = {recognised_bytes(data[: len(data) - cut]).what for cut in range(4)}
    assert found == {"a shell's error: mqadmin was not found"}


def test_what_is_unknown_shows_how_it_begins():
    known = "this is of no kind that is known"
    assert not_read("\n \nlorem\x1b[2J ipsum\n") == f"{known}; it begins with 'lorem ipsum'"
    assert not_read("x" * 500).endswith("xxx'") and len(not_read("x" * 500)) < 120
    assert not_read_bytes(b"\1\2\3") == f"{known}; it begins with '\\x01\\x02\\x03'"
    assert not_read_bytes(b"\0\1") == f"{known}, and no text; it begins with the bytes 00 01"


@pytest.mark.parametrize(
    "line", ["db_password: hunter2", "see http://ops:hunter2@10.0.0.1/", "AK=hunter2"]
)
def test_what_may_be_a_secret_is_not_shown(line):
    assert "hunter2" not in not_read(line)


@pytest.mark.parametrize(
    "line",
    [
        "OpenJDK 64-Bit Server VM warning: Option UseConcMarkSweepGC was deprecated",
        "Java HotSpot(TM) 64-Bit Server VM warning: ignoring option PermSize=128m",
        "Picked up JAVA_TOOL_OPTIONS: -Xmx1g",
        "NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx1g",
        "RocketMQLog:WARN No appenders could be found for logger (io.netty.util.Foo).",
        "log4j:WARN Please initialize the log4j system properly.",
        'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".',
        "SLF4J(W): No SLF4J providers were found.",
        "WARNING: An illegal reflective access operation has occurred",
        "07:59:03,616 |-INFO in ch.qos.logback.classic.LoggerContext[default] - version 1.3.5",
        'Defaulted container "broker" out of: broker, exporter',
        "",
        " \t\r",
        "$",
        "# ",
        "[root@mq1 rocketmq]# ",
        "root@mq1:/opt/rocketmq#",
        "bash-4.2$ ",
        "D:\\rocketmq\\bin>",
    ],
)
def test_noise_needs_no_warning(line):
    assert is_noise(line)


@pytest.mark.parametrize(
    "line",
    [
        "Unrecognized VM option 'UseConcMarkSweepGC'",
        "sh: mqadmin: command not found",
        "10.1.1.1@7#",  # the end of a line that a terminal wrapped in a client id
        "pod-a@12#",
        "80%",
        "orders",
        "$ mqadmin topicRoute -t orders",
        "#Topic",
    ],
)
def test_what_may_be_a_fact_or_an_error_is_no_noise(line):
    assert not is_noise(line)


@given(st.text(), st.text(max_size=20))
def test_any_text_has_a_sentence(text, path):
    assert not_read(text, path).startswith("this is ")
    is_noise(text)


@given(st.binary(), st.text(max_size=20))
def test_any_bytes_have_a_sentence(data, path):
    assert not_read_bytes(data, path).startswith("this is ")


HOSTILE = [
    *'a1 \n"{[<#/\\|=-:.@$',
    *["a ", "1 ", "a.", "a@b ", '"a" ', '{"', "a/a:1 ", "0001 a a:1 ", " \n", "a b 1 2 3 4 5\n"],
    *["2026-01-01 00:00:00 ", '"offsetTable" : { ', "MessageQueue [", "a.a.aException", "[a][a]"],
]


@pytest.mark.parametrize("seed", HOSTILE)
def test_a_hostile_megabyte_is_quick(seed):
    text = seed * ((1 << 20) // len(seed))
    for sentence_of, hostile in ((not_read, text), (not_read_bytes, text.encode())):
        start = time.process_time()
        sentence_of(hostile)
        assert time.process_time() - start < 0.5
    assert not is_noise(text) or not text.strip()
