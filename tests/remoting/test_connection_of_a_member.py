"""Connections of a member: codes beyond reads, one-way requests, and requests of the other side."""

import ast
import asyncio
import gc
from enum import IntEnum

import pytest
import simulated_time
from scripted_server import answering, server
from source_modules import MODULES

from rmqalloc.remoting import (
    Command,
    Connection,
    Credentials,
    ForbiddenRequestError,
    RemotingError,
    ResponseError,
    SilentError,
)
from rmqalloc.remoting import connection as module
from rmqalloc.remoting.frames import ONEWAY, RESPONSE, decode, encode


class Codes(IntEnum):
    HEART_BEAT = 34
    GET_CONSUMER_LIST_BY_GROUP = 38


async def asked(connection):
    """Ask once, then close."""
    try:
        return await connection.ask(Codes.HEART_BEAT, timeout=15)
    finally:
        await connection.close()


def run(serve, **settings):
    """Ask once over a connection with these settings; what the server got, and the answer."""
    got = []

    async def handle(request, writer):
        got.append(request)
        await serve(request, writer)

    async def main():
        async with server(handle) as address:
            return await asked(Connection(address, codes=Codes, **settings))

    return simulated_time.run(main()), got


def requesting(*requests):
    """Ask the client something before its own request is answered; its answers come back on the
    same connection.
    """

    async def serve(request, writer):
        if request.is_response:
            return
        for one in requests:
            writer.write(encode(one))
        await asyncio.sleep(1)  # by the simulated clock, so until all of them have come back
        await answering()(request, writer)

    return serve


def test_only_the_codes_of_a_connection_leave_it():
    got = []

    async def handle(request, writer):
        got.append(request.code)
        await answering()(request, writer)

    async def main():
        async with server(handle) as address:
            connection = Connection(address, codes=Codes)
            for code in (35, 41, 105):
                for way in (connection.ask, connection.send):
                    with pytest.raises(
                        ForbiddenRequestError, match=f"code {code} is not in Codes; it is not sent"
                    ):
                        await way(code)
            assert not connection.is_open
            await asked(connection)

    simulated_time.run(main())
    assert got == [34]


def test_no_request_leaves_past_the_set_of_codes():
    """Not even where the one method that writes is called as no method of the class does."""

    async def main():
        async with server(answering()) as address:
            connection = Connection(address)
            await connection.open()
            for flag in (0, ONEWAY):
                with pytest.raises(ForbiddenRequestError):
                    await connection._send(connection._writer, Command(11, flag=flag))
            await connection.close()

    simulated_time.run(main())
    source = ast.parse(MODULES["rmqalloc.remoting.connection"].read_text(encoding="utf-8"))
    writers = [
        one for one in ast.walk(source) if isinstance(one, ast.Attribute) and one.attr in WRITES
    ]
    assert [one.attr for one in writers] == ["write"], "one place writes, and it looks at the code"


WRITES = {"write", "writelines", "transport", "sendall", "sendto", "write_eof"}


def connections_of(source):
    """Whether a module makes connections, and whether it says which codes they send."""
    if "Connection(" not in source:
        return False, False
    calls = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Call)]
    made = [
        one
        for one in calls
        if getattr(one.func, "id", getattr(one.func, "attr", "")) == "Connection"
    ]
    names = {one.arg for call in made for one in call.keywords}
    return bool(made), bool({"codes", None} & names) or any(len(call.args) > 4 for call in made)


def test_only_the_room_of_members_names_codes_beyond_reads():
    found = {
        name: connections_of(path.read_text(encoding="utf-8")) for name, path in MODULES.items()
    }
    outside = {name: one for name, one in found.items() if not name.startswith("rmqalloc.client")}
    assert {name for name, (makes, _) in outside.items() if makes} == {"rmqalloc.remoting.client"}
    assert not any(names for _, names in outside.values())
    sources = {name: MODULES[name].read_text(encoding="utf-8") for name in outside}
    using = {
        name for name, text in sources.items() if "check_code" in text or "(Connection)" in text
    }
    assert using == {"rmqalloc.remoting.read_codes", "rmqalloc.remoting.connection"}


@pytest.mark.parametrize(
    "source",
    [
        "Connection(a, codes=X)",
        "connection.Connection(a, b, c, d, e, X)",
        "Connection(a, **settings)",
    ],
)
def test_the_rule_sees_a_set_of_codes(source):
    assert connections_of(source) == (True, True)


def test_a_one_way_request_is_marked_and_signed_and_waits_for_nothing():
    got = asyncio.Queue()

    async def handle(request, writer):
        await got.put(request)

    async def main():
        async with server(handle) as address:
            connection = Connection(address, credentials=Credentials("ak", "sk"), codes=Codes)
            await connection.send(Codes.HEART_BEAT, {"a": "1"}, b"{}")
            request = await got.get()
            await connection.close()
            return request

    request = simulated_time.run(main())
    assert request.is_oneway and not request.is_response and request.body == b"{}"
    assert request.ext_fields == Credentials("ak", "sk").signed({"a": "1"}, b"{}")


def test_answers_with_other_codes_than_success_may_be_wanted():
    async def main(accept):
        async with server(answering(code=19, remark="nothing new")) as address:
            connection = Connection(address, codes=Codes)
            try:
                return await connection.ask(Codes.HEART_BEAT, accept=accept)
            finally:
                await connection.close()

    assert simulated_time.run(main((0, 19))).code == 19
    with pytest.raises(ResponseError, match="PULL_NOT_FOUND"):
        simulated_time.run(main((0,)))


async def later(command):
    await asyncio.sleep(0)
    return Command(0, body=command.ext_fields["x"].encode(), flag=ONEWAY)


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(
            lambda command: Command(0, body=command.ext_fields["x"].encode()), id="at once"
        ),
        later,
    ],
)
def test_requests_of_the_other_side_are_answered(handler):
    requests = [Command(307, opaque, {"x": f"{opaque}"}) for opaque in (70, 71, 1)]
    answer, got = run(requesting(*requests), on_request=handler)
    assert answer.body == b"{}", "and its own request is not answered by one of the same number"
    answers = [one for one in got if one.code == 0]
    assert [(one.opaque, one.body, one.flag) for one in answers] == [
        (70, b"70", RESPONSE),
        (71, b"71", RESPONSE),
        (1, b"1", RESPONSE),
    ]


async def failing_later(_command):
    raise RuntimeError("not today")


def failing(_command):
    raise RuntimeError("not today")


@pytest.mark.parametrize("handler", [failing, failing_later])
def test_a_handler_that_fails_is_a_system_error_of_the_client(handler):
    _, got = run(requesting(Command(307, 70)), on_request=handler)
    [answer] = [one for one in got if one.is_response]
    assert (answer.code, answer.opaque, answer.remark) == (1, 70, "RuntimeError: not today")


@pytest.mark.parametrize("handler", [None, pytest.param(lambda _command: None, id="nothing")])
def test_nothing_is_answered_where_nothing_is_to_say(handler):
    answer, got = run(requesting(Command(307, 70)), on_request=handler)
    assert answer.body == b"{}" and len(got) == 1


@pytest.mark.parametrize(
    "handler", [later, failing, failing_later, pytest.param(lambda _: Command(0), id="at once")]
)
def test_notices_get_no_answer(handler):
    _, got = run(requesting(Command(40, 70, {"x": "g"}, flag=ONEWAY)), on_request=handler)
    assert len(got) == 1


def test_requests_of_the_other_side_are_bounded_and_end_with_the_connection(monkeypatch):
    monkeypatch.setattr(module, "MOST_SERVED", 3)
    ended = []

    async def waiting(_command):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    async def main():
        async with server(requesting(*[Command(309, 70 + i) for i in range(9)])) as address:
            answer = await asked(Connection(address, codes=Codes, on_request=waiting))
            return answer.body, len(ended)

    assert simulated_time.run(main()) == (b"{}", 3)


def test_who_opens_and_closes_is_reported():
    said = []

    async def handle(request, writer):
        if len(said) < 2:
            writer.close()
        else:
            await answering()(request, writer)

    async def main():
        async with server(handle) as address:
            connection = Connection(
                address,
                codes=Codes,
                on_open=lambda: said.append("open"),
                on_close=lambda reason: said.append(reason),
            )
            with pytest.raises(RemotingError):
                await connection.ask(Codes.HEART_BEAT)
            await asked(connection)

    simulated_time.run(main())
    unanswered = (
        "the connection was closed before any answer, as ports of other protocols and of TLS do"
    )
    assert said == ["open", unanswered, "open", "the connection was closed"]


def test_a_silent_server_is_named():
    async def silent(_request, _writer):
        pass

    async def main():
        async with server(silent) as address:
            connection = Connection(address, codes=Codes)
            try:
                await connection.ask(Codes.HEART_BEAT, timeout=5)
            finally:
                await connection.close()

    with pytest.raises(
        SilentError, match=r"127.0.0.1:\d+ did not answer within 5 s \(request HEART_BEAT\)"
    ):
        simulated_time.run(main())


def test_a_frame_says_what_it_is():
    for flag in (0, RESPONSE, ONEWAY, RESPONSE | ONEWAY):
        command = decode(encode(Command(0, flag=flag))[4:])
        assert (command.is_response, command.is_oneway) == (
            bool(flag & RESPONSE),
            bool(flag & ONEWAY),
        )


def test_a_connection_that_ends_while_a_request_is_sent_leaves_no_error_that_nobody_takes():
    """The request fails by its sending, and by the end of the connection that it is sent on."""

    async def main():
        unexpected = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: unexpected.append(context)
        )
        async with server(answering()) as address:
            connection = Connection(address, codes=Codes)
            await connection.open()

            async def send(writer, _command):
                connection._ended(writer, "the connection was closed")
                raise ConnectionResetError("reset")

            connection._send = send
            with pytest.raises(RemotingError, match="the connection was closed"):
                await connection.ask(Codes.HEART_BEAT)
            gc.collect()
        return [context["message"] for context in unexpected]

    assert "Future exception was never retrieved" not in simulated_time.run(main())


def test_nothing_is_written_to_a_connection_that_closes(caplog):
    async def main():
        async with server(answering()) as address:
            connection = Connection(address, codes=Codes)
            await connection.open()
            connection._writer.close()
            for _ in range(9):
                with pytest.raises(RemotingError, match="the connection was closed"):
                    await connection.send(Codes.HEART_BEAT)
            await connection.close()

    simulated_time.run(main())
    assert "socket.send() raised" not in caplog.text
