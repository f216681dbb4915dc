"""Would the tests fail? Machine-made mutants of every room, faults put in by hand, and the tests
that notice them.
"""
