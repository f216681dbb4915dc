/* The ways of md5.h for one instruction set: prefixes are put on a tray, full trays are hashed. The outermost template,
 * included at the end of every vocabulary. */
#include "md5_lanes.h"

/* Make sure that there is room for a family of one key at least. Return its row. */
TARGET INLINE uint8_t *NAME(next_row)(const task_t *task, filling_t *now)
{
    if (now->n_families == FAMILIES || now->n_lanes == FULL)
        NAME(hash_tray)(task, empty(now));
    return now->tray->rows + ROW * now->n_families;
}

TARGET static void NAME(points)(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last,
                                const int32_t *starts, int32_t v, uint32_t *out)
{
    const task_t task = {NULL, out, 0x80, 0, 1};
    const int64_t longest = 55 - decimal_width(v - 1); /* the rest of a prefix, if one block is to do */
    int64_t place = 0;
    tray_t trays[2];
    filling_t now = begin(trays, 0), other = begin(trays, 1);
    for (int64_t i = first; i < last; i++) {
        const uint8_t *id = values + offsets[i];
        int64_t n = offsets[i + 1] - offsets[i], length = n + 1;
        uint32_t start = starts ? (uint32_t)starts[i] : 0;
        choose(&now, &other, (length & 63) > longest);
        LOOK_AHEAD(id, 1024);
        for (int32_t k = 0, taken; k < v; k += taken, place += taken) {
            uint8_t *row = NAME(next_row)(&task, &now);
            if (length < ROW) {
                NAME(put)(row, id, n);
                row[n] = '-';
                if (length == 64)
                    memset(row + 64, 0, 64);
            } else
                absorb_id(now.tray, now.n_families, id, n);
            taken = join(&now, FULL, length, place, start + (uint32_t)k, v - k);
        }
    }
    NAME(hash_tray)(&task, empty(&now));
    NAME(hash_tray)(&task, empty(&other));
}

/* The text of a route up to the broker's name; a topic that leaves no room for the rest needs none. Here and below text is
 * written from left to right, since a copy may spoil what follows it. */
TARGET INLINE void NAME(write_head)(uint8_t *head, const uint8_t *topic, int64_t n_topic)
{
    if (n_topic < ROW - 43) {
        memcpy(head, "MessageQueue [topic=", 20);
        NAME(copy)(head + 20, topic, n_topic);
        memcpy(head + 20 + n_topic, ", brokerName=", 13);
    }
}

TARGET INLINE void NAME(write_route)(uint8_t *row, const uint8_t *head, int64_t n_head, const uint8_t *broker,
                                            int64_t n_broker)
{
    memcpy(row, head, 64);
    if (n_head > 64)
        memcpy(row + 64, head + 64, 64);
    NAME(copy)(row + n_head, broker, n_broker);
    memcpy(row + n_head + n_broker, ID_TEXT, sizeof ID_TEXT);
}

TARGET static void NAME(queues)(const uint8_t *topic_values, const int64_t *topic_offsets, const uint8_t *broker_values,
                                const int64_t *broker_offsets, const int32_t *route_topic, const int32_t *route_broker,
                                const int64_t *route_offsets, int64_t first_route, int64_t last_route,
                                const int32_t *queue_ids, uint32_t *out)
{
    const int64_t base = first_route < last_route ? route_offsets[first_route] : 0;
    const task_t task = {queue_ids + base, out, ']' | 0x80 << 8, 1, 1};
    tray_t trays[2];
    filling_t now = begin(trays, 0), other = begin(trays, 1);
    uint8_t head[2 * ROW]; /* kept as long as the topic is the same */
    const uint8_t *topic = NULL;
    int64_t n_topic = 0;
    for (int64_t r = first_route; r < last_route; r++) {
        const int64_t *topic_offset = topic_offsets + route_topic[r], *broker_offset = broker_offsets + route_broker[r];
        if (r == first_route || route_topic[r] != route_topic[r - 1]) {
            topic = topic_values + topic_offset[0];
            n_topic = topic_offset[1] - topic_offset[0];
            NAME(write_head)(head, topic, n_topic);
        }
        const uint8_t *broker = broker_values + broker_offset[0];
        int64_t n_broker = broker_offset[1] - broker_offset[0], length = 43 + n_topic + n_broker;
        LOOK_AHEAD(queue_ids + route_offsets[r], 3072);
        choose(&now, &other, (length & 63) > 52); /* queue ids of two digits at most, by guess */
        for (int64_t i = route_offsets[r]; i < route_offsets[r + 1];) {
            uint8_t *row = NAME(next_row)(&task, &now);
            if (length < ROW)
                NAME(write_route)(row, head, 33 + n_topic, broker, n_broker);
            else
                absorb_route(now.tray, now.n_families, topic, n_topic, broker, n_broker);
            i += join(&now, FULL, length, i - base, 0, route_offsets[r + 1] - i);
        }
    }
    NAME(hash_tray)(&task, empty(&now));
    NAME(hash_tray)(&task, empty(&other));
}

TARGET static void NAME(strings)(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last,
                                 uint32_t *out)
{
    const task_t task = {NULL, out, 0x80, 0, 0};
    tray_t trays[2];
    filling_t now = begin(trays, 0), other = begin(trays, 1);
    for (int64_t i = first; i < last; i++) {
        const uint8_t *text = values + offsets[i];
        int64_t length = offsets[i + 1] - offsets[i];
        choose(&now, &other, (length & 63) > 55);
        uint8_t *row = NAME(next_row)(&task, &now);
        if (length < ROW)
            NAME(put)(row, text, length);
        else
            absorb_string(now.tray, now.n_families, text, length);
        join(&now, FULL, length, i - first, 0, 1);
    }
    NAME(hash_tray)(&task, empty(&now));
    NAME(hash_tray)(&task, empty(&other));
}

/* The bare rounds on ready-made blocks: what everything else here is measured by. */
TARGET static void NAME(bare)(const uint32_t *blocks, int64_t n_groups, uint32_t *out)
{
    for (; n_groups > 0; n_groups--, blocks += 16 * BARE_WIDTH, out += BARE_WIDTH)
        for (int lane = 0; lane < BARE_WIDTH; lane += WIDTH) {
            V x[4][STREAMS];
            for (int i = 0; i < 4; i++)
                for (int s = 0; s < STREAMS; s++)
                    x[i][s] = SPREAD(BEGINNING[i]);
            NAME(rounds)(blocks + lane, BARE_WIDTH, x[0], x[1], x[2], x[3], 0, 16, 0);
            for (int s = 0; s < STREAMS; s++)
                STORE_ANY(out + lane + LANES * s, NAME(reverse_bytes)(x[0][s] + BEGINNING[0]));
        }
}

static const rmq_md5_t NAME(entries) = {NAME(points), NAME(queues), NAME(strings), NAME(bare)};

#undef ISA
#undef TARGET
#undef LANES
#undef STREAMS
#undef V
#undef M
#undef BARRIER
#undef ROTATE
#undef F1
#undef F2
#undef F3
#undef F4
#undef TIMES
#undef ADD_WHERE
#undef ABOVE
#undef WIDEN
#undef PICK_INDEX
#undef PICK
#undef WIDTH
#undef FULL
#undef MEMORY
#undef LOAD
#undef STORE
#undef LOAD_ANY
#undef STORE_ANY
#undef SPREAD
#undef EACH_STREAM
#undef ROW_OF
#undef STEP
#undef STEP_OF
#undef QUAD
