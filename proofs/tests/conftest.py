"""The plugins of the tests, where the tests of the proofs run alone."""

pytest_plugins = ["selected", "leaks", "order", "skips", "time_limits"]
