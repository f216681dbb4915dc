"""Fuzz guided by coverage, libFuzzer for C and atheris for Python: `python -m fuzz.guided -h`."""
