/* Both splits of any units, in two calls as threads make them, against the plain meaning. */
#include "fuzz_input.h"
#include "plain_split.h"
#include "split.h"

enum { MOST_UNITS = 200, MOST_QUEUES = 1 << 15 };

static void split_all(split_t *split, const int64_t *offsets, const int32_t *n_clients, int64_t n_units, int64_t half)
{
    int32_t *out = room(offsets[n_units], sizeof *out);
    split(offsets + half, n_clients + half, n_units - half, out);
    for (int64_t i = 0; i < offsets[half]; i++)
        out[i] = -7;
    split(offsets, n_clients, half, out);
    for (int64_t u = 0; u < n_units; u++) {
        const int64_t n = offsets[u + 1] - offsets[u];
        for (int64_t q = 0; q < n; q++)
            CHECK(out[offsets[u] + q] == owner(split, q, n, n_clients[u]), "unit %d of %d: queue %d of %d, %d clients: %d",
                  (int)u, (int)n_units, (int)q, (int)n, n_clients[u], out[offsets[u] + q]);
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int64_t n_units = below(&in, MOST_UNITS + 1), most = size_of(&in, MOST_QUEUES / 4), alike = take(&in, 1) & 1;
    const int64_t half = below(&in, n_units + 1);
    int64_t *offsets = room(n_units + 1, sizeof *offsets);
    int32_t *n_clients = room(n_units, sizeof *n_clients);
    maybe_draw(&in);
    offsets[0] = 0;
    for (int64_t u = 0; u < n_units; u++) {
        const int64_t n = alike && u ? offsets[1] : size_of(&in, most), left = MOST_QUEUES - offsets[u];
        offsets[u + 1] = offsets[u] + (n < left ? n : left);
        n_clients[u] = alike && u ? n_clients[0] : (int32_t)size_of(&in, 2 * most + 20);
    }
    EVERY_ISA {
        split_all(rmq_splits()->contiguous, offsets, n_clients, n_units, half);
        split_all(rmq_splits()->circular, offsets, n_clients, n_units, half);
    }
    free(offsets), free(n_clients);
    return 0;
}
