"""The plugins of the tests, where the tests of the proofs run alone."""

pytest_plugins = ["leaks", "limits", "order", "skips"]
