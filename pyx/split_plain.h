/* What split_body.h does with vectors, one number at a time: for compilers that have none. */

static void scalar_contiguous(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out)
{
    for (int64_t unit = 0; unit < n_units; unit++) {
        const int64_t end = queue_offsets[unit + 1], n_queues = end - queue_offsets[unit], n = n_clients[unit];
        const int64_t size = n ? n_queues / n : n_queues, extra = n ? n_queues % n : 0;
        int32_t client = n ? 0 : -1;
        for (int64_t queue = queue_offsets[unit], block; queue < end; client++)
            for (block = queue + size + (client < extra && n); queue < block; queue++)
                out[queue] = client;
    }
}

static void scalar_circular(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out)
{
    for (int64_t unit = 0; unit < n_units; unit++) {
        const int32_t n = n_clients[unit], first = n ? 0 : -1;
        int32_t client = first;
        for (int64_t queue = queue_offsets[unit]; queue < queue_offsets[unit + 1]; queue++) {
            out[queue] = client;
            client = client + 1 < n ? client + 1 : first;
        }
    }
}
