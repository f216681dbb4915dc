"""A real RocketMQ on loopback: released servers from Maven Central, on two cores and half a
gigabyte.

``python -m live_cluster start DIR`` and ``stop DIR`` are what ``make cluster`` and ``make
cluster-stop`` run; the tests use `LiveCluster`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import tied
from java_driver import JavaFailed, command, maven_classpath
from server_ports import free_ports

PROJECT = Path(__file__).resolve().parent / "live_java"
BROKERS = ("hz@broker-a", "sh@broker-b")
"""Broker names, each with its machine room in front, as MACHINE_ROOM expects."""

READY_WITHIN = 600
PATIENCE = 60
SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
OPENED = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
LOGGED_4_9 = ("namesrv", "broker", "tools")

LOCKS_LAST = "-Drocketmq.broker.rebalance.lockMaxLiveTime=4000"
"""Milliseconds until queues of an ordered consumer that died are free; a minute by default, longer than tests may wait."""


class LiveCluster:
    """A name server and two brokers with small heaps and files, on free ports of loopback.

    Parameters
    ----------
    home : path, optional
        Directory for everything the servers write; a new temporary one by default. `stop` removes
        it.
    outlives : bool
        Whether the servers go on when the process that starts them ends.
    options : sequence of str
        Options of the brokers' Java machines.
    version : str, optional
        Release of the servers: 4.9.7, or by default what the pom says.
    **settings
        Settings of every broker's file, such as ``autoCreateTopicEnable="true"``.
    """

    def __init__(
        self,
        home: Path | None = None,
        outlives: bool = False,
        options: Sequence[str] = (LOCKS_LAST,),
        version: str | None = None,
        **settings: Any,
    ) -> None:
        self._settings = settings
        self.home = home or Path(tempfile.mkdtemp(prefix="rmqalloc-cluster-"))
        self.home.mkdir(parents=True, exist_ok=True)
        self.classpath = maven_classpath(PROJECT, version)
        for program in (
            LOGGED_4_9 if version is not None else ()
        ):  # servers of 4.9 do not start without
            file = self.home / "conf" / f"logback_{program}.xml"
            file.parent.mkdir(exist_ok=True)
            file.write_text("<configuration/>\n", encoding="utf-8")
        port = free_ports(1)
        self.name_server = f"127.0.0.1:{port}"
        self._port = port
        self._options = tuple(options)
        self._popen = subprocess.Popen if outlives else tied.popen
        self.brokers: dict[str, str] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the servers and wait until each says that it has booted."""
        self.start_name_server()
        for name in BROKERS:
            self.start_broker(name)
        for name in BROKERS:
            self._wait(name)

    def start_name_server(self) -> None:
        """Start the name server alone and wait until it has booted."""
        self._configure("namesrv", {"listenPort": self._port})
        self._run("namesrv", "org.apache.rocketmq.namesrv.NamesrvStartup", "-Xmx96m")
        self._wait("namesrv")

    def start_broker(self, name: str, **settings: Any) -> None:
        """Start one broker, on the port it had if it ran before; settings are those of its file,
        brokerName and all.
        """
        port = (
            int(self.brokers[name].rpartition(":")[2])
            if name in self.brokers
            else free_ports(4) + 2
        )
        self.brokers[name] = f"127.0.0.1:{port}"
        self.configure_broker(name, port, **settings)
        memory = ("-Xmx192m", "-XX:MaxDirectMemorySize=96m")
        self._run(
            name, "org.apache.rocketmq.broker.BrokerStartup", *memory, *self._options, *OPENED
        )

    def configure_broker(self, name: str, port: int, **settings: Any) -> None:
        """Write the settings of a broker into its file."""
        store = self.home / f"store-{name}"
        self._configure(
            name,
            {
                "brokerClusterName": "live", "brokerName": name, "brokerId": 0, "brokerIP1": "127.0.0.1",
                "namesrvAddr": self.name_server, "listenPort": port, "storePathRootDir": store,
                "storePathCommitLog": store / "commitlog", "mappedFileSizeCommitLog": 16 << 20,
                "mappedFileSizeConsumeQueue": 60_000, "timerWheelEnable": "false", "flushDiskType": "ASYNC_FLUSH",
                "autoCreateTopicEnable": "false", "loadBalancePollNameServerInterval": 500, "diskMaxUsedSpaceRatio": 95,
                "registerNameServerPeriod": 10_000, "waitTimeMillsInSendQueue": 30_000,
                "osPageCacheBusyTimeOutMills": 30_000, **self._settings, **settings,
            },
        )  # fmt: skip

    @property
    def running(self) -> dict[str, str]:
        """Addresses of the brokers that run, by name."""
        return {name: address for name, address in self.brokers.items() if name in self._processes}

    def wait_for_broker(self, name: str) -> None:
        """Wait until a broker that was started says that it has booted."""
        self._wait(name)

    @property
    def programs(self) -> list[int]:
        """Process ids of its servers."""
        return [one.pid for one in self._processes.values()]

    def pid_of(self, name: str) -> int:
        """Process id of a broker that runs, to freeze and thaw it."""
        return self._processes[name].pid

    def stop_broker(self, name: str) -> None:
        """Stop one broker in good order: it takes itself off the name server's list."""
        _end(self._pid_file(name), signal.SIGTERM)
        self._processes.pop(name).wait()

    def kill_broker(self, name: str) -> None:
        """End one broker at once, as a machine that loses power; it is forgotten."""
        _end(self._pid_file(name))
        self._processes.pop(name).wait()
        del self.brokers[name]

    def stop(self) -> None:
        """Stop all servers by their pids and remove what they wrote."""
        end_all(self.home)
        for process in self._processes.values():
            process.wait()
        self._processes.clear()

    def _configure(self, name: str, settings: dict[str, Any]) -> None:
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        (self.home / f"{name}.conf").write_text(text, encoding="utf-8")

    def _run(self, name: str, main: str, *options: str) -> None:
        home = (f"-Drocketmq.home.dir={self.home}", f"-Duser.home={self.home}")
        arguments = [
            command("java"),
            *home,
            *SMALL,
            *options,
            "-cp",
            self.classpath,
            main,
            "-c",
            str(self.home / f"{name}.conf"),
        ]
        with (self.home / f"{name}.out").open("wb") as out:
            self._processes[name] = self._popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                start_new_session=True,
            )
        self._pid_file(name).write_text(str(self._processes[name].pid), encoding="utf-8")

    def _wait(self, name: str) -> None:
        out, deadline = self.home / f"{name}.out", time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            if b"boot success" in out.read_bytes():
                return
            if self._processes[name].poll() is not None:
                break
            time.sleep(0.1)
        _end(self._pid_file(name))
        self._processes.pop(name).wait()
        self.brokers.pop(name, None)  # or everybody after this would wait for it
        last = without_logging(out.read_text(errors="replace"))[-2000:]
        raise JavaFailed(f"{name} did not boot within {READY_WITHIN} s; it said last:\n{last}")

    def _pid_file(self, name: str) -> Path:
        return self.home / f"{name}.pid"


def mqadmin(cluster: LiveCluster, *arguments: str) -> str:
    """What RocketMQ's own administration tool prints."""
    home = (f"-Drocketmq.home.dir={cluster.home}", f"-Duser.home={cluster.home}")
    tool = "org.apache.rocketmq.tools.command.MQAdminStartup"
    done = subprocess.run(
        [command("java"), *home, *SMALL, "-cp", cluster.classpath, tool, *arguments],
        capture_output=True, text=True, check=True, timeout=READY_WITHIN, cwd=cluster.home,
    )  # fmt: skip
    return without_logging(done.stdout)


def without_logging(text: str) -> str:
    """What a Java program printed, without what its logging says about itself."""
    return "\n".join(
        line for line in text.splitlines() if "|-INFO" not in line and "|-WARN" not in line
    )


def _runs(pid: int, home: Path) -> bool:
    """Whether a process runs and is a server of this directory; its number may have gone to
    somebody else since.
    """
    try:
        os.kill(pid, 0)
        line = Path(f"/proc/{pid}/cmdline")
        return (
            str(home).encode() in line.read_bytes() if Path("/proc/self/cmdline").exists() else True
        )
    except (ProcessLookupError, FileNotFoundError, PermissionError):
        return False


def _end(pid_file: Path, *how: signal.Signals) -> None:
    """End the process that a file names: by each signal in turn, with some patience, and by force
    in the end.
    """
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text(encoding="utf-8"))
    for one in (*how, signal.SIGKILL):
        if _runs(pid, pid_file.parent):
            os.kill(pid, one)
        deadline = time.monotonic() + PATIENCE
        while _runs(pid, pid_file.parent) and time.monotonic() < deadline:
            time.sleep(0.05)
    pid_file.unlink()


def end_all(home: Path) -> None:
    """End all servers of a directory and remove it; at once, for what they would still write goes
    with it.
    """
    for pid_file in sorted(home.glob("*.pid")):
        _end(pid_file)
    shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Start or stop a cluster that outlives this program."""
    what, home = sys.argv[1], Path(sys.argv[2]).resolve()
    if what == "stop":
        end_all(home)
        return
    if any(home.glob("*.pid")):
        raise SystemExit(f"a cluster runs in {home} already; stop it first: make cluster-stop")
    cluster = LiveCluster(home, outlives=True, autoCreateTopicEnable="true")
    try:
        cluster.start()
    except BaseException:
        cluster.stop()
        raise
    print(
        f"name server {cluster.name_server}, brokers "
        + ", ".join(f"{k} {v}" for k, v in cluster.brokers.items())
    )
    print(f"export NAMESRV_ADDR={cluster.name_server}")


if __name__ == "__main__":
    main()
