/* See isa.h. */
#include "isa.h"

#include <stddef.h>
#include <string.h>

static const char *const NAMES[RMQ_ISA_LEVELS] = {"plain", "scalar", "neon", "avx2", "avx512"};
static rmq_shared_int_t forced = -1;

static int machine_has(int level)
{
#ifdef RMQ_X86
    if (level == RMQ_AVX2)
        return PROCESSOR_HAS("avx2") && PROCESSOR_HAS("bmi2") && PROCESSOR_HAS("popcnt");
    if (level == RMQ_AVX512)
        return machine_has(RMQ_AVX2) && PROCESSOR_HAS("avx512f") && PROCESSOR_HAS("avx512bw") &&
               PROCESSOR_HAS("avx512vl");
#endif
#ifdef RMQ_ARM
    if (level == RMQ_NEON)
        return 1;
#endif
    return level == RMQ_PLAIN || (level == RMQ_SCALAR && RMQ_VECTORS);
}

enum rmq_isa_level rmq_isa_level(void)
{
    int level = RMQ_ISA_LEVELS - 1;
    const int chosen = SHARED_GET(forced);
    if (chosen >= 0)
        return (enum rmq_isa_level)chosen;
    while (!machine_has(level))
        level--;
    return (enum rmq_isa_level)level;
}

const char *rmq_isa(void) { return NAMES[rmq_isa_level()]; }

const char *rmq_isa_available(int i)
{
    for (int level = RMQ_ISA_LEVELS - 1; level >= 0; level--)
        if (machine_has(level) && i-- == 0)
            return NAMES[level];
    return NULL;
}

int rmq_isa_force(const char *name)
{
    for (int level = 0; level < RMQ_ISA_LEVELS; level++)
        if (machine_has(level) && strcmp(name, NAMES[level]) == 0) {
            SHARED_SET(forced, level);
            return 0;
        }
    return -1;
}
