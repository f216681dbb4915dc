"""The one door to compiled code. This text is the contract of every kernel behind it.

A kernel is a loop over integers and bytes. It takes numpy arrays through the buffer protocol,
inputs first, the output last; it returns nothing, allocates nothing, raises nothing and releases
the GIL. **It checks nothing**: arrays must be C-contiguous, of the dtypes its stub names, at least
one element long where it reads them, and offsets must not decrease nor point outside what they
index. Callers check once, at the face (`rmqalloc.fleet`, `rmqalloc.strategies`).

=========  ===========================================================================================================
module     loops
=========  ===========================================================================================================
split      ``contiguous``, ``circular``, ``tail_remainder``, ``level``: queues among clients; ``rename`` owners, vacant shares
strings    Java's order of text (UTF-16 code units, straight from UTF-8), repeats, lone surrogates
ragged     distinct rows of ragged columns, gathering of rows, stable order of numbers
md5        first 32 bits of MD5 of many short keys: ring points of client ids, hashes of queues
crc32      CRC-32 of many short keys, for the ring of client-go
ring_of_one  the ring for one group of Python objects: the thin path of a client that rebalances; ``slots`` and ``preferences``
           have one of their own, ``own_group`` and ``match_group``
ring       the client whose point comes at or after each queue's hash
names      names as numbers: Java's hash of text, the slots that client ids carry, a number for every queue
slots      owners by slot numbers: anchors, the sizes between them, holes
preferences  owners by mutual preference: the best pairs first, or favourites in rounds
weigh      queues of different weights among clients of different capacities
tally      loads, unowned queues, idle clients, queues in other rooms, moves, clients affected, the least moves there could be
=========  ===========================================================================================================

Terms: *owners* is int32, the position of the client that owns a queue, -1 for nobody. *Offsets* are
int64, one more than there are lists. A *slot* is one entry of a client list. A *route* is one
(topic, broker name) with its queue ids.

The modules are built from ``pyx/<name>.pyx``; ``_cython_memoryviews`` is Cython's own code, which
all of them import. Each holds its loops as one reads them, the level ``plain``. Where vectors pay,
``pyx/vector/`` has the same loops in C for other levels, which answer the same: ``scalar`` (vectors
of four numbers, as every x86-64 and aarch64 has them), ``avx2``, ``avx512``, ``neon``. When a
module is imported the widest that the machine has is chosen, or the one that ``RMQALLOC_ISA``
names; where a level has no loop of its own, and with compilers that know no vectors, the plain one
runs.
"""
