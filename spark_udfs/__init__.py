"""RocketMQ queue allocation on Spark columns, a million consumer groups at a time.

``transforms.assign``
    For ``DataFrame.transform``: one row per consumer group and topic in, its owners and figures out.
``session.session``
    A Spark session with settings that suit it.
``job``
    ``python -m spark_udfs.job``: Parquet in, Parquet out.
``arrow``, ``requirements``
    What runs in the Python workers, and what Spark needs on a machine; they import no pyspark.
"""
