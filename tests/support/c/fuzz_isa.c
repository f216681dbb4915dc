/* Any text as the name of an instruction set: those of the machine are taken, all others change nothing. */
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = room((int64_t)size + 1, 1);
    const char *before = rmq_isa();
    int known = 0;
    if (size)
        memcpy(name, data, size);
    name[size] = 0;
    for (int i = 0; rmq_isa_available(i); i++)
        known |= strcmp(rmq_isa_available(i), name) == 0;
    CHECK(rmq_isa_force(name) == (known ? 0 : -1), "'%s' is taken or refused wrongly", name);
    CHECK(strcmp(rmq_isa(), known ? name : before) == 0, "'%s' leads to this", name);
    EVERY_ISA
        CHECK(strcmp(rmq_isa(), rmq_isa_available(isa_)) == 0, "this is chosen, not %s", rmq_isa_available(isa_));
    free(name);
    return 0;
}
