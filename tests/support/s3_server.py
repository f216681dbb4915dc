"""moto's S3 in a process of its own, pyarrow at it, and the jars by which Spark reaches it."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import cache
import tied
from pyarrow import fs as pafs
from server_ports import free_ports

KEYS = {"access_key": "an-access-key", "secret_key": "a-secret-key"}

POM = Path(__file__).with_name("s3_jars.xml")
OF_SPARK = ("slf4j", "commons-", "netty-buffer", "netty-c", "netty-h", "netty-r", "netty-t")
"""Jars that Spark has itself."""


def jars():
    """Return the jars of S3A, from Maven Central the first time."""

    def make(folder):
        goal = [
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
            "-DincludeScope=runtime",
        ]
        subprocess.run(["mvn", "-B", "-q", "-f", str(POM), *goal], check=True)

    folder = cache.folder("jars-s3", [POM], make)
    return [
        str(path) for path in sorted(folder.glob("*.jar")) if not path.name.startswith(OF_SPARK)
    ]


class S3Server:
    """Where it is: as an endpoint, as pyarrow's file system and as settings of Hadoop."""

    def __init__(self, process, port):
        self._process = process
        self.endpoint = f"http://127.0.0.1:{port}"
        self.files = pafs.S3FileSystem(
            **KEYS, endpoint_override=self.endpoint, region="us-east-1", allow_bucket_creation=True
        )

    def hadoop(self):
        """Settings of S3A, without ``spark.hadoop.``."""
        given = {
            "endpoint": self.endpoint, "endpoint.region": "us-east-1", "path.style.access": "true",
            "connection.ssl.enabled": "false", "access.key": KEYS["access_key"], "secret.key": KEYS["secret_key"],
        }  # fmt: skip
        return {f"fs.s3a.{name}": value for name, value in given.items()}

    def cpu_seconds(self):
        """What the server has used so far; Linux alone tells."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def s3_server(*buckets):
    """A server with these buckets while the block runs."""
    port = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = tied.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(3000):
            assert process.poll() is None, "moto's server has ended"
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        server = S3Server(process, port)
        for one in buckets:
            server.files.create_dir(one)
        yield server
    finally:
        process.terminate()
        process.wait()
