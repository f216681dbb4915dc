"""A webhook against receivers on loopback that fail, hang, redirect and refuse; and the options of
``check --watch``.
"""

import json
import ssl
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from rmqalloc.audit import Finding
from rmqalloc.cli import main
from rmqalloc.watching import webhook as sending
from rmqalloc.watching.webhook import Webhook, WebhookError, shown_address

ONE = Finding("idle-client", "warning", "g", None, (), ("c",), "c is idle", "")
PATIENCE = 120
"""Seconds; everything here takes a few hundredths."""

SECRET = "/services/T0/B0/s3cret?token=t0ken"


class Receiver:
    """Answers as given, the last answer again and again; None hangs until the end."""

    def __init__(self, *answers):
        self.answers, self.got, self.end = list(answers) or [200], [], threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.got.append(
                    (self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                )
                answer = (
                    receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                )
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                if status is None:
                    receiver.end.wait(PATIENCE)
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(sending, "_pause", lambda n_tries: 0.001 * 2**n_tries)


def sent(receiver, *calls, form="json"):
    """What is noted once everything was sent that can be."""
    hook = Webhook(receiver.host + SECRET, "c", form)
    for raised, cleared in calls or [([ONE], [])]:
        hook.after(raised, cleared, 0.0)
    wait_until(lambda: not hook._n_unsent)
    hook.close(PATIENCE)
    return hook.notes()


def wait_until(is_so):
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_what_is_raised_and_cleared_is_posted_once():
    with Receiver(200) as receiver:
        assert sent(receiver, ([ONE], []), ([], []), ([], [ONE])) == []
        assert [path for path, _ in receiver.got] == [SECRET] * 2
        assert [[one["status"] for one in body["findings"]] for _, body in receiver.got] == [
            ["raised"],
            ["cleared"],
        ]


@pytest.mark.parametrize(
    "passing", [500, 503, (429, {"Retry-After": "0"}), (503, {"Retry-After": "nonsense"})], ids=str
)
def test_a_failure_that_passes_is_tried_again_and_nothing_after_success(passing):
    with Receiver(passing, passing, 204) as receiver:
        assert sent(receiver) == []
        assert len(receiver.got) == 3


def test_tries_are_bounded_in_number():
    with Receiver(500) as receiver:
        assert sent(receiver) == [
            f"{receiver.host} answered 500",
            f"1 finding not sent to {receiver.host}",
        ]
        assert len(receiver.got) == sending._MOST_TRIES


@pytest.mark.parametrize(
    "after", ["3600", pytest.param("9" * 400, id="400 digits"), formatdate(2**32, usegmt=True)]
)
def test_a_pause_that_is_asked_for_is_bounded(after):
    with Receiver((429, {"Retry-After": after}), 200) as receiver:
        assert sent(receiver)[0] == f"{receiver.host} answered 429"
        assert len(receiver.got) == 1


def test_a_pause_that_is_asked_for_is_kept():
    with Receiver((429, {"Retry-After": "1"}), 200) as receiver:
        began = time.monotonic()
        assert sent(receiver) == []
        assert time.monotonic() - began >= 1


REDIRECTS = ", and redirects are not followed"


@pytest.mark.parametrize(
    ("status", "said"), [(400, ""), (404, ""), (300, REDIRECTS), (302, REDIRECTS)]
)
def test_a_refusal_is_final(status, said):
    with (
        Receiver(200) as other,
        Receiver((status, {"Location": f"{other.host}/elsewhere"})) as receiver,
    ):
        assert sent(receiver)[0] == f"{receiver.host} answered {status}{said}"
        assert (len(receiver.got), other.got) == (1, [])


def test_a_receiver_that_hangs_holds_up_nothing_and_what_it_misses_is_counted(monkeypatch):
    monkeypatch.setattr(sending, "_ANSWERS_WITHIN", PATIENCE)
    with Receiver(None) as receiver:
        hook = Webhook(receiver.host + SECRET, "c")
        for _ in range(sending.MOST_WAITING + 11):
            hook.after([ONE], [], 0.0)
        wait_until(lambda: receiver.got)
        notes = hook.notes()
        assert notes[0] == f"{receiver.host} is too slow: {sending.MOST_WAITING} messages wait"
        hook.close(0.1)
        assert hook._thread.is_alive(), "the receiver has not answered yet"
        n_dropped = int(notes[-1].split()[0]) + int(hook.notes()[-1].split()[0])
        assert n_dropped == sending.MOST_WAITING + 11
        receiver.end.set()
        hook._thread.join(PATIENCE)
        assert len(receiver.got) == 1 and hook.notes() == []


def test_at_the_end_what_is_under_way_is_sent():
    with Receiver(200) as receiver:
        hook = Webhook(receiver.host, "c")
        hook.after([ONE], [])
        hook.close(PATIENCE)
        assert len(receiver.got) == 1 and hook.notes() == []


def test_an_end_does_not_wait_for_another_try(monkeypatch):
    monkeypatch.setattr(sending, "_pause", lambda _: 50.0)
    with Receiver(500) as receiver:
        hook = Webhook(receiver.host, "c")
        hook.after([ONE], [])
        wait_until(lambda: receiver.got)
        hook.close(20)
        assert (
            hook.notes()[-1] == f"1 finding not sent to {receiver.host}"
            and not hook._thread.is_alive()
        )


def test_many_findings_are_several_messages():
    many = [Finding("idle-client", "warning", f"g{i}", None, (), (), "", "") for i in range(45)]
    with Receiver(200) as receiver:
        assert sent(receiver, (many, []), form="slack") == []
        assert [len(body["blocks"]) - 1 for _, body in receiver.got] == [20, 20, 5]


def test_nobody_there():
    with Receiver(200) as receiver:
        address = receiver.host
    assert (
        sent(SimpleNamespace(host=address))[0] == f"{address} cannot be reached: Connection refused"
    )
    assert sent(SimpleNamespace(host="http://a..b"))[0].startswith(
        "http://a..b cannot be reached: "
    )


def test_a_receiver_without_tls_gets_nothing():
    with Receiver(200) as receiver:
        https = receiver.host.replace("http", "https")
        assert sent(SimpleNamespace(host=https))[0].startswith(f"{https} cannot be reached: ")
        assert receiver.got == []


def test_a_certificate_is_verified_and_one_that_is_not_trusted_is_final(monkeypatch):
    asked = []

    class Untrusted:
        def __init__(self, host, port, timeout, context):
            asked.append((host, port, context.verify_mode, context.check_hostname))

        def request(self, *_):
            error = ssl.SSLCertVerificationError("no")
            error.verify_message = "self-signed certificate"
            raise error

        def close(self):
            pass

    monkeypatch.setattr(sending, "HTTPSConnection", Untrusted)
    said = sent(SimpleNamespace(host="https://h:1"))
    assert said[0] == "https://h:1 has a certificate that is not trusted: self-signed certificate"
    assert asked == [("h", 1, ssl.CERT_REQUIRED, True)]


@pytest.mark.parametrize(
    "address", ["ftp://h/s3cret", "s3cret", "http://", "http://u:s3cret@h/", "http://h:x/s3cret", "http://h/s3\ncret",
                "http://h/s3 cret", "http://[/s3cret", "http://h:0/", "http://h/s3créet", ""],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_and_not_shown(address):
    with pytest.raises(WebhookError) as error:
        Webhook(address, "c")
    assert str(error.value).startswith(
        "the address of the webhook is none: it must be like https://"
    )
    assert "s3" not in str(error.value) or address == ""


def test_what_is_shown_of_an_address():
    assert (
        shown_address(f"https://hooks.example.com:8443{SECRET}") == "https://hooks.example.com:8443"
    )
    assert shown_address("http://[::1]:80/x") == "http://[::1]:80"


def test_pauses_grow_and_are_bounded(monkeypatch):
    monkeypatch.undo()
    for n in range(40):
        assert min(15, 0.5 * 2**n) / 2 <= sending._pause(n) <= 15


# --- the command line ---


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs ``check --watch`` on a cluster that has a fault at the second, third and fourth look,
    and ends at the fifth.
    """
    looks = iter([[], [ONE], [ONE], [ONE], []])

    def sleep(_):
        if not left:
            raise KeyboardInterrupt
        left.pop()

    left, close = [None] * 4, Webhook.close
    monkeypatch.setattr(Webhook, "close", lambda hook: close(hook, PATIENCE))  # not two seconds
    monkeypatch.setattr(
        "rmqalloc.cli._watch.time", SimpleNamespace(sleep=sleep, strftime=time.strftime)
    )
    monkeypatch.setattr("rmqalloc.cli._check_command._Looking.look", lambda _: next(looks))
    return lambda *argv: (
        main(["check", "-n", "127.0.0.1:1", *map(str, argv)]),
        *capsys.readouterr(),
    )


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("way", ["option", "file", "variable"])
def test_a_watch_posts_what_it_says(run, way, monkeypatch, tmp_path):
    with Receiver(200) as receiver:
        (tmp_path / "hook").write_text(f"{receiver.host}{SECRET}\n")
        if way == "variable":
            monkeypatch.setenv("RMQALLOC_CHECK_WEBHOOK", receiver.host + SECRET)
        option = {
            "option": ["--webhook", receiver.host + SECRET],
            "file": ["--webhook-file", tmp_path / "hook"],
        }
        code, out, err = run("--watch", "--webhook-form", "alertmanager", *option.get(way, []))
        assert code == 130 and "s3cret" not in out + err and "webhook" not in err
        (_, (raised,)), (_, (cleared,)) = receiver.got
        assert raised["labels"] == cleared["labels"] and raised["startsAt"] == cleared["startsAt"]
        assert raised["labels"]["cluster"] == "127.0.0.1:1"


@pytest.mark.thorough
def test_what_could_not_be_posted_is_said(run):
    with Receiver(404) as receiver:
        code, out, err = run("--watch", "--webhook", receiver.host + SECRET)
        assert (code, len(receiver.got)) == (130, 2)
        assert f"webhook  {receiver.host} answered 404\n" in err and "s3cret" not in out + err
        assert sum(int(line.split()[4]) for line in err.splitlines() if "not sent" in line) == 2


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--webhook", "http://h/s3cret"], "give --watch too"),
        (["--webhook-file", "hook"], "give --watch too"),
        (
            ["--watch", "--webhook", "http://h/s3cret", "--webhook-file", "hook"],
            "leave one of them out",
        ),
        (["--watch", "--webhook", "h/s3cret"], "--webhook: the address of the webhook is none"),
        (
            ["--watch", "--webhook-file", "no-such-file"],
            "--webhook-file no-such-file: No such file",
        ),
        (["--watch", "--webhook-file", "hook"], "it must hold an address in one line"),
    ],
)
def test_wrong_usage_shows_no_address(run, argv, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hook").write_text("http://h/s3cret\nhttp://h/s3cret\n")
    code, out, err = run(*argv)
    assert code == 64 and said in " ".join(err.split()) and "s3cret" not in out + err
