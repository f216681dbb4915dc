"""How workers reach an object store by themselves: the session's settings of Hadoop's client as arguments of pyarrow's.

What cannot be said to pyarrow, such as a class of one's own that provides credentials, is a reason to leave the store to Spark.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_udfs.job import _hadoop as hadoop
from spark_udfs.job._stores import Store

S3_SCHEMES = ("s3a", "s3", "s3n")

_PLAIN_PROVIDERS = (
    "SimpleAWSCredentialsProvider",
    "TemporaryAWSCredentialsProvider",
    "AnonymousAWSCredentialsProvider",
    "EnvironmentVariableCredentialsProvider",
    "IAMInstanceCredentialsProvider",
    "ProfileCredentialsProvider",
    "DefaultCredentialsProvider",
    "DefaultAWSCredentialsProviderChain",
)
"""Classes whose credentials pyarrow finds, too: in the settings, or where every client of AWS looks."""

_NOT_SAID = (
    "encryption.algorithm",
    "server-side-encryption-algorithm",
    "proxy.host",
    "assumed.role.arn",
    "security.credential.provider.path",
)
"""Settings that pyarrow would not follow: it would write without encryption, or look for credentials elsewhere."""

Setting = Callable[[str], str]


def store_of(uri: str, spark: SparkSession) -> tuple[Store, str] | str:
    """Return the store of a URI, and the path in it; or why only Spark can reach it."""
    parts = urlsplit(uri)
    if parts.scheme not in S3_SCHEMES:
        return f"{parts.scheme or 'the file system'} is left to Spark"
    found = s3_store(parts.netloc, _settings(spark, parts.netloc))
    return found if isinstance(found, str) else (found, f"{parts.netloc}{parts.path.rstrip('/')}")


def s3_store(bucket: str, setting: Setting) -> Store | str:
    """Return the store of a bucket of S3 by the settings of S3A, or why there is none.

    Examples
    --------
    >>> given = {"endpoint": "http://127.0.0.1:9000", "access.key": "a", "secret.key": "b"}
    >>> dict(s3_store("plans", lambda name: given.get(name, "")).arguments)["endpoint_override"]
    '127.0.0.1:9000'
    >>> s3_store("plans", lambda name: "AES256" if name == "encryption.algorithm" else "")
    'the setting encryption.algorithm of plans is one that pyarrow does not follow'
    """
    for name in _NOT_SAID:
        if setting(name):
            return f"the setting {name} of {bucket} is one that pyarrow does not follow"
    providers = [
        one.strip().rpartition(".")[2] for one in setting("aws.credentials.provider").split(",") if one.strip()
    ]
    if other := [one for one in providers if one not in _PLAIN_PROVIDERS]:
        return f"the credentials of {bucket} come from {other[0]}, which pyarrow does not know"
    endpoint, region = setting("endpoint"), setting("endpoint.region")
    secure = setting("connection.ssl.enabled").lower() != "false" and not endpoint.startswith("http://")
    arguments: dict[str, Any] = {"scheme": "https" if secure else "http"}
    if endpoint:
        arguments["endpoint_override"] = endpoint.partition("://")[2] or endpoint
        arguments["force_virtual_addressing"] = setting("path.style.access").lower() == "false"
    if region:
        arguments["region"] = region
    if providers == ["AnonymousAWSCredentialsProvider"]:
        arguments["anonymous"] = True
    elif setting("access.key"):
        arguments |= {"access_key": setting("access.key"), "secret_key": setting("secret.key")}
        if setting("session.token"):
            arguments["session_token"] = setting("session.token")
    return Store("S3FileSystem", tuple(sorted(arguments.items())))


def _settings(spark: SparkSession, bucket: str) -> Setting:
    """Return the session's settings of S3A for a bucket: those of its own first."""
    read = _of_hadoop(spark) if hadoop.bridge(spark) is not None else _of_session(spark)

    def setting(name: str) -> str:
        if name.startswith("security."):
            return read(f"hadoop.{name}")
        return read(f"fs.s3a.bucket.{bucket}.{name}") or read(f"fs.s3a.{name}")

    return setting


def _of_hadoop(spark: Any) -> Setting:
    """Return the settings that Hadoop sees, including its configuration files."""
    found = spark._jsparkSession.sessionState().newHadoopConf()
    return lambda name: str(found.get(name) or "")


def _of_session(spark: SparkSession) -> Setting:
    """Return the settings that were given to a session of Spark Connect."""

    def setting(name: str) -> str:
        try:
            return str(spark.conf.get(f"spark.hadoop.{name}", "") or "")
        except PySparkException:
            return ""

    return setting
