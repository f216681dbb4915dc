/* What preferences_body.h does with vectors, one number at a time: for compilers that have none. */

static void scalar_first_choices(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                                 uint32_t *best, uint32_t *choice)
{
    for (int32_t queue = 0; queue < n_queues; queue++) {
        best[queue] = mixed(queues[queue] ^ clients[0]);
        choice[queue] = 0;
        for (int32_t client = 1; client < n_clients; client++) {
            const uint32_t score = mixed(queues[queue] ^ clients[client]);
            choice[queue] = score > best[queue] ? (uint32_t)client : choice[queue];
            best[queue] = score > best[queue] ? score : best[queue];
        }
    }
}

static int32_t scalar_best_open(uint32_t queue, const uint32_t *clients, const uint32_t *open, int32_t n_clients, uint32_t *score)
{
    int32_t choice = 0;
    *score = 0;
    for (int32_t client = 0; client < n_clients; client++) {
        const uint32_t scored = mixed(clients[client] ^ queue) & open[client];
        choice = scored > *score ? client : choice;
        *score = scored > *score ? scored : *score;
    }
    return choice;
}

static int32_t scalar_find_band(const uint32_t *queues, int32_t n_queues, uint32_t client, uint64_t bound, uint64_t width,
                                uint64_t *out)
{
    return find_band(queues, n_queues, client, bound, width, out);
}

static void scalar_sort_few(const uint64_t *pairs, int32_t n, uint64_t *out)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t place = i;
        for (; place > 0 && out[place - 1] > pairs[i]; place--)
            out[place] = out[place - 1];
        out[place] = pairs[i];
    }
}
