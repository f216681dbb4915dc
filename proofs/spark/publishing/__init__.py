"""Kill the Spark job at any moment and look at what readers get: ``python -m spark.publishing``."""
