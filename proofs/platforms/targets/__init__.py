"""Whole extension modules for machines that are not here: compiled and linked by zig, and run where
something can run them.
"""
