/* The instruction set in use: the one place where it is chosen.

   Every kernel module compiles isa.c into itself and so has a choice of its own; all of them start with the widest set
   of the machine, or with the one that the environment variable RMQALLOC_ISA names (isa.pxi reads it).

   The narrowest, `plain`, is no C at all: the loop that stands in the module's .pyx. A header of this folder offers the loops of
   the other levels in one table; where a level has none of its own, and everywhere with a compiler that has no vectors, the
   function that hands the table out returns NULL, and the plain loop does the work. */
#ifndef RMQALLOC_ISA_H
#define RMQALLOC_ISA_H

#include "compiler.h"

enum rmq_isa_level { RMQ_PLAIN, RMQ_SCALAR, RMQ_NEON, RMQ_AVX2, RMQ_AVX512, RMQ_ISA_LEVELS }; /* narrowest first */

enum rmq_isa_level rmq_isa_level(void);

/* Its name; the i-th name this machine can run (widest first, NULL past the end); choose one for the whole module
   (0, or -1 when this machine lacks it and nothing changed). Threads that compute meanwhile go on with either: the answers of
   all are the same. */
const char *rmq_isa(void);
const char *rmq_isa_available(int i);
int rmq_isa_force(const char *name);

#endif
