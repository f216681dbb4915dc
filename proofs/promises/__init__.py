"""What pages and docstrings promise, with the tests that hold it and the mutants that those tests
kill.
"""
