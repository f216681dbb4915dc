"""A real RocketMQ proxy with a broker in it, and gRPC consumers behind it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from typing import Self

import tied
from java_driver import JavaFailed, command, maven_classpath
from live_cluster import OPENED, PROJECT, READY_WITHIN, SMALL, LiveCluster
from server_ports import free_ports

PROXY, GRPC = PROJECT / "proxy", PROJECT / "clients" / "grpc"
NAME = "px@proxy"


class ProxyServer:
    """A proxy in local mode beside the brokers of a cluster; `broker` is the address of its own."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self._endpoint = f"127.0.0.1:{free_ports(2)}"
        self.broker = f"127.0.0.1:{free_ports(4) + 2}"

    def __enter__(self) -> Self:
        home = self._cluster.home
        port = int(self._endpoint.rpartition(":")[2])
        self._cluster.configure_broker(
            "proxy", int(self.broker.rpartition(":")[2]), brokerName=NAME
        )
        ports = {"grpcServerPort": port, "remotingListenPort": port + 1, "grpcThreadPoolNums": 2}
        settings = {
            "rocketMQClusterName": "live",
            "proxyMode": "LOCAL",
            "namesrvAddr": self._cluster.name_server,
        }
        (home / "proxy.json").write_text(json.dumps(settings | ports), encoding="utf-8")
        arguments = [
            command("java"), f"-Drocketmq.home.dir={home}", f"-Duser.home={home}", *SMALL, "-Xmx256m",
            "-XX:MaxDirectMemorySize=128m", *OPENED, "-cp", maven_classpath(PROXY),
            "org.apache.rocketmq.proxy.ProxyStartup", "-n", self._cluster.name_server, "-pm", "local",
            "-bc", str(home / "proxy.conf"), "-pc", str(home / "proxy.json"),
        ]  # fmt: skip
        self._out = home / "proxy.out"
        with self._out.open("wb") as out:
            self._process = tied.popen(arguments, stdout=out, stderr=subprocess.STDOUT, cwd=home)
        deadline = time.monotonic() + 3 * READY_WITHIN
        while "startup successfully" not in self._out.read_text(errors="replace"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise JavaFailed(
                    f"the proxy did not start; it said last:\n{self._out.read_text(errors='replace')[-2000:]}"
                )
            time.sleep(0.2)
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def consumers(self, group: str, topic: str) -> Iterator[None]:
        """Two gRPC consumers in one process, while the block lasts."""
        arguments = [
            command("java"),
            *SMALL,
            "-Xmx128m",
            f"-Duser.home={self._cluster.home}",
            "-cp",
            maven_classpath(GRPC),
        ]
        process = tied.popen(
            [*arguments, "io.rmqalloc.live.Grpc", self._endpoint, group, topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != b"ready":
                raise JavaFailed(f"the gRPC consumers of {group} did not start")
            yield
        finally:
            process.kill()
            process.communicate()
