/* The rounds of MD5 on LANES x STREAMS messages at once. The innermost template: compiled once per instruction
 * set, after a vocabulary (md5_scalar.h and its like) has said what a vector V is.
 *
 * What makes it fast, measured:
 * - several streams side by side, since one stream only ever waits for its own last step;
 * - nothing but F and the additions around the rotation on the way from one step to the next. Compilers re-associate
 *   the other additions onto that way, which costs a fifth; BARRIER keeps them off;
 * - round constants read from memory (HIDE): the load ports are idle, the arithmetic ones are not;
 * - only word A is wanted in the end, and the last three steps of 64 do not touch it;
 * - words known to be zero are not added. */

#define ROW_OF(g, t) LOAD_ANY(rows + (g) * stride + (t) * LANES)
#define STEP_OF(t, F, a, b, c, d, g, s, i) \
    { \
        V sum = a[t] + sine[i]; \
        if ((g) < n_words || (g) >= 14) \
            sum += ROW_OF(g, t); \
        BARRIER(sum); \
        sum += F(b[t], c[t], d[t]); \
        BARRIER(sum); \
        a[t] = ROTATE(sum, s) + b[t]; \
    }
#define STEP(F, a, b, c, d, g, s, i) EACH_STREAM(STEP_OF, F, a, b, c, d, g, s, i)
#define QUAD(F, i, g0, g1, g2, g3, s0, s1, s2, s3) \
    STEP(F, a, b, c, d, g0, s0, i) \
    STEP(F, d, a, b, c, g1, s1, i + 1) \
    STEP(F, c, d, a, b, g2, s2, i + 2) \
    STEP(F, b, c, d, a, g3, s3, i + 3)

/* From step `from` (0, 4, 8 or 12) to the last one that word A needs, or through all steps. Word g of message l of
 * stream t is rows[g * stride + t * LANES + l]; words from n_words to 13 are zero. */
TARGET INLINE void NAME(rounds)(const uint32_t *rows, const int stride, V *a, V *b, V *c, V *d, const int from,
                                       const int n_words, const int all)
{
    const uint32_t *sine = SINE;
    HIDE(sine);
    if (from <= 0) {
        QUAD(F1, 0, 0, 1, 2, 3, 7, 12, 17, 22)
    }
    if (from <= 4) {
        QUAD(F1, 4, 4, 5, 6, 7, 7, 12, 17, 22)
    }
    if (from <= 8) {
        QUAD(F1, 8, 8, 9, 10, 11, 7, 12, 17, 22)
    }
    QUAD(F1, 12, 12, 13, 14, 15, 7, 12, 17, 22)
    QUAD(F2, 16, 1, 6, 11, 0, 5, 9, 14, 20)
    QUAD(F2, 20, 5, 10, 15, 4, 5, 9, 14, 20)
    QUAD(F2, 24, 9, 14, 3, 8, 5, 9, 14, 20)
    QUAD(F2, 28, 13, 2, 7, 12, 5, 9, 14, 20)
    QUAD(F3, 32, 5, 8, 11, 14, 4, 11, 16, 23)
    QUAD(F3, 36, 1, 4, 7, 10, 4, 11, 16, 23)
    QUAD(F3, 40, 13, 0, 3, 6, 4, 11, 16, 23)
    QUAD(F3, 44, 9, 12, 15, 2, 4, 11, 16, 23)
    QUAD(F4, 48, 0, 7, 14, 5, 6, 10, 15, 21)
    QUAD(F4, 52, 12, 3, 10, 1, 6, 10, 15, 21)
    QUAD(F4, 56, 8, 15, 6, 13, 6, 10, 15, 21)
    STEP(F4, a, b, c, d, 4, 6, 60)
    if (all) {
        STEP(F4, d, a, b, c, 11, 10, 61)
        STEP(F4, c, d, a, b, 2, 15, 62)
        STEP(F4, b, c, d, a, 9, 21, 63)
    }
}

/* The first `to` steps (0, 4, 8 or 12), which messages that begin alike have in common. */
TARGET INLINE void NAME(opening)(const uint32_t *rows, const int stride, V *a, V *b, V *c, V *d, int to)
{
    const uint32_t *sine = SINE;
    const int n_words = 16;
    HIDE(sine);
    if (to > 0) {
        QUAD(F1, 0, 0, 1, 2, 3, 7, 12, 17, 22)
    }
    if (to > 4) {
        QUAD(F1, 4, 4, 5, 6, 7, 7, 12, 17, 22)
    }
    if (to > 8) {
        QUAD(F1, 8, 8, 9, 10, 11, 7, 12, 17, 22)
    }
}
