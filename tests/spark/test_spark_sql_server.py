"""The server of SQL functions: what it refuses, and one program that asks it."""

import socket

import pytest
from server_ports import free_ports

pytestmark = pytest.mark.spark


def test_a_session_that_would_not_share_its_functions_is_refused(spark):
    from spark_udfs.sql_server import start_server

    with pytest.raises(
        (ValueError, TypeError), match=r"thriftServer\.singleSession=true|got one of Spark Connect"
    ):
        start_server(spark)


def test_a_port_that_is_taken_is_an_error_before_spark_ends_the_process(monkeypatch, capsys):
    from spark_udfs import sql_server

    class Shared:
        """The session, as if it had been started for a server."""

        _jvm = object()

        class conf:
            get = staticmethod({sql_server.SHARED: "true"}.get)

    monkeypatch.setattr(sql_server, "session", lambda *_: Shared())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert sql_server.main(["--port", str(taken.getsockname()[1])]) == 1
    assert "error: [Errno 98]" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        sql_server.main(["--conf", "nothing"])
    assert "--conf must be KEY=VALUE, got 'nothing'" in capsys.readouterr().err


@pytest.mark.slow
def test_beeline_has_the_functions_and_a_server_ends_in_good_order(tmp_path):
    import sql_transcript

    port = free_ports(1)
    (tmp_path / "views.sql").write_text("CREATE TEMPORARY VIEW four AS\nSELECT 4 AS n;\n")
    with sql_transcript.served(tmp_path, port, "--init", "views.sql") as server:
        query = (
            "SELECT rmq_allocate(clients => 3, queues => n, strategy => 'AVG') AS owners FROM four;"
        )
        address = f"jdbc:hive2://127.0.0.1:{port}/"
        done = sql_transcript.program("beeline", "-u", address, "--outputformat=tsv2", "-e", query)
        assert done.stdout.splitlines() == ["owners", "[0,0,1,2]"], done.stderr
    assert server.returncode == 0
