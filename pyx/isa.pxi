# Which instruction set a module uses: the same three functions and the same environment variable for each of them.

import os


cdef extern from "vector/isa.h" nogil:
    const char *rmq_isa()
    const char *rmq_isa_available(int i)
    int rmq_isa_force(const char *name)


def isa():
    return rmq_isa().decode()


def available_isas():
    names = []
    while rmq_isa_available(len(names)) is not NULL:
        names.append(rmq_isa_available(len(names)).decode())
    return tuple(names)


def force_isa(str name not None):
    if rmq_isa_force(name.encode()):
        raise ValueError(f"unknown or missing instruction set {name!r}; this machine has {', '.join(available_isas())}")


if os.environ.get("RMQALLOC_ISA"):
    try:
        force_isa(os.environ["RMQALLOC_ISA"])
    except ValueError as error:
        raise ImportError(f"environment variable RMQALLOC_ISA: {error}") from None
