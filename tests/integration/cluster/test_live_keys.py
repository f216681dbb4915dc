"""Whom requests are signed for: servers that the user named, or that a certificate vouches for, and
nobody else.
"""

import asyncio
import warnings

import pytest
from contexts import use_context
from loopback import Loopback

import rmqalloc
from rmqalloc.cli import main
from rmqalloc.remoting import RemotingError
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.credentials import Credentials, tls_context
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.remoting.signed_servers import NotNamedError, SignedServers, is_verified

KEYS = Credentials("ak", "sk")


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("RMQALLOC_ACCESS_KEY", KEYS.access_key)
    monkeypatch.setenv("RMQALLOC_SECRET_KEY", KEYS.secret_key)


def elsewhere(servers):
    """The name server under another name than its brokers have."""
    return servers.name_server.replace("127.0.0.1", "localhost")


def signed(servers):
    """Servers that got a signature, and those that were asked at all."""
    return {name for name, _, fields in servers.asked if "Signature" in fields}, {
        name for name, *_ in servers.asked
    }


def fetched(name_server, **how):
    with pytest.warns(UserWarning, match="keys are used without verified TLS"):
        return rmqalloc.fetch(name_server, **how)


def test_a_broker_that_only_the_name_server_named_gets_nothing(keys):
    with Loopback() as servers:
        snapshot = fetched(elsewhere(servers))
    assert signed(servers) == ({"name server"}, {"name server"})
    assert "ak" not in str([fields for name, _, fields in servers.asked if name != "name server"])
    assert {one.source for one in snapshot.errors} == {"broker broker-0", "broker broker-1"}
    for one in snapshot.errors:
        address = servers.addresses[one.source.removeprefix("broker ")]
        assert (
            one.message.startswith(f"no request is sent to {address}")
            and f"by acl_address: {address} in its context (acl_address" in one.message
        )


@pytest.mark.parametrize(
    ("named", "wanted"),
    [
        ("{broker-0}", {"broker-0"}),
        ("127.0.0.1", {"broker-0", "broker-1"}),
        ("127.0.0.0/8", {"broker-0", "broker-1"}),
        ("10.0.0.0/8; {broker-1}", {"broker-1"}),
    ],
)
def test_a_broker_that_was_named_is_signed_for(keys, named, wanted):
    with Loopback() as servers:
        snapshot = fetched(elsewhere(servers), acl_address=named.format(**servers.addresses))
    assert signed(servers) == ({"name server", *wanted},) * 2
    assert {one.source.removeprefix("broker ") for one in snapshot.errors} == set(
        servers.names
    ) - wanted
    assert all(client.owned is not None for client in snapshot.groups[0].clients), (
        "through the broker that is asked"
    )


def test_brokers_on_the_host_of_a_named_name_server_are_named(keys):
    with Loopback() as servers:
        assert fetched(servers.name_server).errors == ()
    assert signed(servers)[0] == {"name server", *servers.names}


def test_without_keys_nobody_needs_to_be_named():
    with Loopback() as servers, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rmqalloc.fetch(elsewhere(servers)).errors == ()
    assert signed(servers)[0] == set()


def test_the_command_line_warns_once_and_takes_the_address_of_a_context(
    keys, capsys, monkeypatch, tmp_path
):
    with Loopback() as servers:
        arguments = ["snapshot", "-n", elsewhere(servers)]
        assert main(arguments) == 4
        err = capsys.readouterr().err
        assert err.count("warning: keys are used without verified TLS") == 1
        assert "no request is sent to" in err and "UserWarning" not in err
        use_context(monkeypatch, tmp_path, elsewhere(servers), acl_address="127.0.0.1")
        assert main(["snapshot"]) == 0
        capsys.readouterr()
        use_context(monkeypatch, tmp_path, elsewhere(servers), acl_address="10.0.0.1/8")
        assert main(["snapshot"]) == 64
    assert (
        "acl_address '10.0.0.1/8' must be HOST, HOST:PORT or a network" in capsys.readouterr().err
    )


def test_a_cluster_that_is_looked_at_again_is_not_warned_of_again(keys, capsys):
    with Loopback() as servers:
        main(["check", "-n", servers.name_server, "--settle", "100ms"])
    assert servers.count(ReadCode.GET_BROKER_CLUSTER_INFO) == 2
    assert capsys.readouterr().err.count("keys are used") == 1


@pytest.mark.parametrize(
    ("text", "address", "is_in"),
    [
        ("broker-a", "BROKER-A:10911", True),
        ("broker-a", "broker-a.evil:10911", False),
        ("broker-a:10911", "broker-a:10909", False),
        ("::1", "[0:0:0:0:0:0:0:1]:10911", True),
        ("[::1]:10911", "[::1]:10911", True),
        ("[fd00::1]", "[fd00::1]:1", True),
        ("fd00::/8", "[fd00::2]:10911", True),
        ("10.0.0.0/8", "10.evil:10911", False),
        ("10.0.0.0/8", "11.0.0.1:10911", False),
        ("", "no address", False),
    ],
)
def test_who_is_named(text, address, is_in):
    assert (address in SignedServers(["10.9.9.9:9876"], text)) is is_in


@pytest.mark.parametrize(
    "text", ["a b", "broker-a:0", "10.0.0.0/33", "10.0.0.1/8", "http://a:1", ":", "a:1;;b:x"]
)
def test_what_names_no_server(text):
    with pytest.raises(ValueError, match="must be HOST, HOST:PORT or a network"):
        SignedServers([], text)


def test_tls_that_verifies_is_proof_enough_and_other_tls_is_none():
    assert is_verified(tls_context())
    assert not is_verified(tls_context(verify=False)) and not is_verified(None)


def test_with_tls_that_verifies_no_broker_needs_to_be_named(keys):
    async def asked(tls):
        async with Remote(["10.0.0.1:9876"], Access(tls, KEYS, retries=0, timeout=1)) as remote:
            await remote.ask("127.0.0.1:1", ReadCode.GET_BROKER_CONFIG)

    with pytest.raises(NotNamedError, match=r"no request is sent to 127\.0\.0\.1:1"):
        asyncio.run(asked(tls_context(verify=False)))
    with pytest.raises(RemotingError, match="could not be reached"):
        asyncio.run(asked(tls_context()))
