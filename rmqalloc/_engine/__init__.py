"""Compiled code. This text is the contract of every kernel.

A kernel is a loop over integers and bytes. It takes numpy arrays through the buffer protocol,
inputs first, the output last; it returns nothing, allocates nothing, raises nothing and releases
the GIL. **It checks nothing**: arrays must be C-contiguous, of the dtypes its stub names, with at
least one element if the kernel reads them; offsets must not decrease nor point outside the indexed
array. Callers check once, in the public packages (`rmqalloc.fleet`, `rmqalloc.strategies`).

=========  ===========================================================================================================
module     loops
=========  ===========================================================================================================
split      ``contiguous``, ``circular``, ``tail_remainder``, ``level``: queues among clients; ``rename`` owners, vacant shares
strings    Java's order of text (UTF-16 code units, straight from UTF-8), repeats, lone surrogates
ragged     distinct rows of ragged columns, gathering of rows, stable order of numbers
md5        first 32 bits of MD5 of many short keys: ring points of client ids, hashes of queues
crc32      CRC-32 of many short keys, for the ring of client-go
ring_of_one  the ring for one group of Python objects: the short path of a client that rebalances; ``slots`` and ``preferences``
           have their own such functions, ``own_group`` and ``match_group``
ring       the client whose point comes at or after each queue's hash
names      names as numbers: Java's hash of text, the slots that client ids carry, a number for every queue
slots      owners by slot numbers: anchors, the sizes between them, holes
preferences  owners by mutual preference: the best pairs first, or favourites in rounds
weigh      queues of different weights among clients of different capacities
tally      loads, unowned queues, idle clients, queues in other machine rooms, moves, clients affected, the minimum of moves
=========  ===========================================================================================================

Terms: *owners* is int32, the position of the client that owns a queue, -1 for an unowned queue.
*Offsets* are int64, as many as lists plus 1. A *slot* is one entry of a client list. A *route* is a
pair (topic, broker name) with its queue ids.

The modules are built from ``pyx/<name>.pyx``; ``_cython_memoryviews`` is Cython's own code, which
all of them import. The loops in these files are the level ``plain``. If vectors make a loop
faster, ``pyx/vector/`` has the same loop in C for further levels, with equal results: ``scalar``
(vectors of four numbers, as every x86-64 and aarch64 has them), ``avx2``, ``avx512``, ``neon``. An
imported module chooses the widest level of the machine, or the level that ``RMQALLOC_ISA`` names;
the plain loop runs if a level has no loop of its own, or if the compiler has no vectors.
"""

from importlib.machinery import PathFinder
from os.path import dirname

from rmqalloc.errors import Error


class NotCompiledError(Error, ImportError):
    """Python found the source tree, whose kernels are not compiled, and not an installed package."""


if PathFinder.find_spec(f"{__name__}.names", __path__) is None:
    raise NotCompiledError(
        f"the source tree of rmqalloc in {dirname(dirname(__path__[0]))} is not compiled: run the "
        "program from another folder, or compile the tree with `make dev`",
        name=__name__,
    )
