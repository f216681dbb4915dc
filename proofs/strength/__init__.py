"""How many machine-made mutants the tests of ``make test`` miss that those of ``make test-all`` kill."""
