"""Silence is not an answer: whatever source of knowledge is taken away, nothing becomes wrong and
no fault an all-clear.
"""
