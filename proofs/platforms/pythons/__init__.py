"""Other Pythons: the wheel on every release of CPython that Debian has, and without the interpreter
lock.
"""
