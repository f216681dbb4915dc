/* The fuzz target of preferences over bytes that are drawn: its loops under every instruction set, on buffers of exactly the right
   size. Compiled with address and undefined-behaviour sanitizers by tests/engine/test_sanitizers.py. */
#include "fuzz_preferences.c"

int main(void)
{
    uint8_t data[64];
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 6000; round++) {
        for (size_t i = 0; i < sizeof data; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            data[i] = (uint8_t)(state >> 24);
        }
        LLVMFuzzerTestOneInput(data, sizeof data);
    }
    return 0;
}
