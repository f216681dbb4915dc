"""Fuzz guided by coverage, libFuzzer for C and atheris for Python: `python -m guided_fuzz -h`."""
