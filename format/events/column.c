/* SPDX-License-Identifier: Apache-2.0 */
#include "format/events/column.h"

#include <string.h>

#define DICT_MAX   256u
#define DICT_SLOTS 1024u

struct dict {
    uint64_t values[DICT_MAX];
    uint16_t slots[DICT_SLOTS]; /* place in values + 1, 0 free */
    unsigned count;
};

/* Place of `value`, added when new; DICT_MAX when there is no room. */
static unsigned dict_place(struct dict *d, uint64_t value)
{
    unsigned i = (unsigned)((value * 0x9e3779b97f4a7c15u) >> 54);

    while (d->slots[i]) {
        if (d->values[d->slots[i] - 1] == value)
            return d->slots[i] - 1u;
        i = (i + 1) & (DICT_SLOTS - 1);
    }
    if (d->count == DICT_MAX)
        return DICT_MAX;
    d->values[d->count++] = value;
    d->slots[i] = (uint16_t)d->count;
    return d->count - 1;
}

/* Fill places[count]; false when there are more than DICT_MAX different values, which shows early
 * in a column that has no use for a dictionary. */
static bool dict_build(struct dict *d, const uint64_t *values, size_t count, uint8_t *places)
{
    memset(d->slots, 0, sizeof(d->slots));
    d->count = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned place = dict_place(d, values[i]);
        if (place == DICT_MAX)
            return false;
        places[i] = (uint8_t)place;
    }
    return true;
}

/* Most columns are, so this is asked first: eight values with one branch. */
static bool is_constant(const uint64_t *v, size_t count)
{
    uint64_t first = v[0], other = 0;
    size_t i = 0;

    for (; count - i >= 8 && !other; i += 8) {
        other = (v[i] ^ first) | (v[i + 1] ^ first) | (v[i + 2] ^ first) | (v[i + 3] ^ first) |
                (v[i + 4] ^ first) | (v[i + 5] ^ first) | (v[i + 6] ^ first) | (v[i + 7] ^ first);
    }
    for (; i < count && !other; i++)
        other = v[i] ^ first;
    return !other;
}

struct range {
    uint64_t min, max;
};

/* Two chains of comparisons, because each waits for the one before. */
static struct range range_of(const uint64_t *values, size_t count)
{
    struct range a = {values[0], values[0]}, b = a;
    size_t i = 0;

    for (; count - i >= 2; i += 2) {
        a.min = values[i] < a.min ? values[i] : a.min;
        a.max = values[i] > a.max ? values[i] : a.max;
        b.min = values[i + 1] < b.min ? values[i + 1] : b.min;
        b.max = values[i + 1] > b.max ? values[i + 1] : b.max;
    }
    if (i < count) {
        a.min = values[i] < a.min ? values[i] : a.min;
        a.max = values[i] > a.max ? values[i] : a.max;
    }
    return (struct range){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

static bool never_falls(const uint64_t *values, size_t count)
{
    size_t i = 1;

    while (i < count && values[i] >= values[i - 1])
        i++;
    return i >= count;
}

static void from_deltas(uint64_t *values, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++) {
        value += (uint64_t)tsm_unzigzag(values[i]);
        values[i] = value;
    }
}

static unsigned fixed_width(uint64_t span)
{
    return span <= 0xff ? 1 : span <= 0xffff ? 2 : span <= 0xffffffff ? 4 : 8;
}

/* One loop for each width: a test in the loop would cost as much as the loop. */
static void fill_fixed(uint8_t *p, const uint64_t *values, size_t count, uint64_t base,
                       unsigned width)
{
    size_t i = 0;

    switch (width) {
    case 1:
        for (; i < count; i++)
            p[i] = (uint8_t)(values[i] - base);
        break;
    case 2:
        for (; i < count; i++)
            tsm_put_u16(p + 2 * i, (uint16_t)(values[i] - base));
        break;
    case 4:
        for (; i < count; i++)
            tsm_put_u32(p + 4 * i, (uint32_t)(values[i] - base));
        break;
    default:
        for (; i < count; i++)
            tsm_put_u64(p + 8 * i, values[i] - base);
    }
}

/* High bytes are much alike and low ones are not: side by side each compresses as it can. */
static void fill_planes(uint8_t *p, const uint64_t *values, size_t count, uint64_t base,
                        unsigned width)
{
    for (unsigned byte = 0; byte < width; byte++, p += count)
        for (size_t i = 0; i < count; i++)
            p[i] = (uint8_t)((values[i] - base) >> 8 * byte);
}

typedef void fill_function(uint8_t *p, const uint64_t *values, size_t count, uint64_t base,
                           unsigned width);

static void put_based(struct tsm_buffer *out, const uint64_t *values, size_t count, uint64_t base,
                      unsigned width, fill_function *fill)
{
    uint8_t *p;

    tsm_buffer_add_u64(out, base);
    p = tsm_buffer_reserve(out, count * width);
    if (!p)
        return;
    fill(p, values, count, base, width);
    out->size += count * width;
}

/* Writes a number in at most 10 bytes; always touches 4. The lengths of neighbouring times differ
 * at random, so up to 28 bits are spread over four bytes without a branch. */
static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    if (v < 1u << 28) {
        uint32_t x = (uint32_t)v;
        unsigned more = (31u - (unsigned)__builtin_clz(x | 1)) / 7;
        uint32_t spread = (x & 0x7f) | (x & 0x3f80) << 1 | (x & 0x1fc000) << 2 | x >> 21 << 24;

        tsm_put_u32(p, spread | (0x80808080u & ((1u << 8 * more) - 1)));
        return p + more + 1;
    }
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static void put_varints(struct tsm_buffer *out, const uint64_t *values, size_t count)
{
    uint8_t *start = tsm_buffer_reserve(out, count * 10);
    uint8_t *p = start;

    if (!start)
        return;
    for (size_t i = 0; i < count; i++)
        p = put_varint(p, values[i]);
    out->size += (size_t)(p - start);
}

static void put_varint_deltas(struct tsm_buffer *out, const uint64_t *values, size_t count)
{
    uint8_t *start = tsm_buffer_reserve(out, count * 10);
    uint8_t *p = start;
    uint64_t before = 0;

    if (!start)
        return;
    for (size_t i = 0; i < count; i++) {
        p = put_varint(p, tsm_zigzag((int64_t)(values[i] - before)));
        before = values[i];
    }
    out->size += (size_t)(p - start);
}

/* Appends a dictionary column unless there are too many values or it would not be smaller. */
static bool put_dict(struct tsm_buffer *out, const uint64_t *values, size_t count, unsigned width)
{
    size_t at = out->size;
    struct dict dict;
    uint8_t *places;

    if (count * (width - 1) <= 16) /* two values at least, of eight bytes each */
        return false;
    if (!tsm_buffer_reserve(out, 2 + 8 * DICT_MAX + count))
        return false;
    places = out->data + at + 2 + 8 * DICT_MAX;
    if (!dict_build(&dict, values, count, places) || 8 * dict.count + count >= count * width)
        return false;
    tsm_buffer_add_u8(out, SBT_COLUMN_DICT);
    tsm_buffer_add_u8(out, (uint8_t)(dict.count - 1));
    for (unsigned i = 0; i < dict.count; i++)
        tsm_buffer_add_u64(out, dict.values[i]);
    memmove(out->data + out->size, places, count);
    out->size += count;
    return true;
}

static void put_constant(struct tsm_buffer *out, uint64_t value)
{
    tsm_buffer_add_u8(out, SBT_COLUMN_CONSTANT);
    tsm_buffer_add_u64(out, value);
}

/* Values that are not all the same. */
static void put_body(struct tsm_buffer *out, const uint64_t *values, size_t count,
                     enum sbt_column_hint hint)
{
    struct range r = range_of(values, count);
    unsigned width = fixed_width(r.max - r.min);

    if (width > 1 && put_dict(out, values, count, width))
        return;
    if (hint == SBT_COLUMN_NOISE && width > 1) {
        tsm_buffer_add_u8(out, (uint8_t)(SBT_COLUMN_PLANES2 + width / 4));
        put_based(out, values, count, r.min, width, fill_planes);
        /* Counters of objects and the like; others only lose by differences. */
    } else if (width > 1 && never_falls(values, count)) {
        tsm_buffer_add_u8(out, SBT_COLUMN_DELTA | SBT_COLUMN_VARINT);
        put_varint_deltas(out, values, count);
    } else if (hint == SBT_COLUMN_SMALL && width > 1) {
        tsm_buffer_add_u8(out, SBT_COLUMN_VARINT);
        put_varints(out, values, count);
    } else {
        tsm_buffer_add_u8(out, (uint8_t)(width == 8 ? SBT_COLUMN_FIXED8 : 1 + width / 2));
        put_based(out, values, count, width == 8 ? 0 : r.min, width, fill_fixed);
    }
}

void sbt_column_put(struct tsm_buffer *out, const uint64_t *values, size_t count,
                    enum sbt_column_hint hint)
{
    size_t at = out->size;

    tsm_buffer_add_u32(out, 0);
    if (count && is_constant(values, count))
        put_constant(out, values[0]);
    else if (count)
        put_body(out, values, count, hint);
    if (!out->failed)
        tsm_put_u32(out->data + at, (uint32_t)(out->size - at - 4));
}

void sbt_column_put_constant(struct tsm_buffer *out, uint64_t value)
{
    tsm_buffer_add_u32(out, 9);
    put_constant(out, value);
}

static void get_fixed(struct tsm_view *in, uint64_t *values, size_t count, unsigned width)
{
    uint64_t base = tsm_view_u64(in);
    const uint8_t *p = tsm_view_take(in, count * width);

    if (!p)
        return;
    for (size_t i = 0; i < count; i++, p += width) {
        if (width == 1)
            values[i] = base + *p;
        else if (width == 2)
            values[i] = base + tsm_get_u16(p);
        else if (width == 4)
            values[i] = base + tsm_get_u32(p);
        else
            values[i] = base + tsm_get_u64(p);
    }
}

static void get_planes(struct tsm_view *in, uint64_t *values, size_t count, unsigned width)
{
    uint64_t base = tsm_view_u64(in);
    const uint8_t *p = tsm_view_take(in, count * width);

    for (size_t i = 0; p && i < count; i++)
        values[i] = base + p[i];
    for (unsigned byte = 1; p && byte < width; byte++)
        for (size_t i = 0; i < count; i++)
            values[i] += (uint64_t)p[byte * count + i] << 8 * byte;
}

static void get_dict(struct tsm_view *in, uint64_t *values, size_t count)
{
    size_t n = tsm_view_u8(in) + (size_t)1;
    const uint8_t *list = tsm_view_take(in, n * 8);
    const uint8_t *places = tsm_view_take(in, count);

    for (size_t i = 0; places && i < count; i++) {
        if (places[i] >= n) {
            in->failed = true;
            return;
        }
        values[i] = tsm_get_u64(list + 8 * (size_t)places[i]);
    }
}

static void get_body(struct tsm_view *in, unsigned storage, uint64_t *values, size_t count)
{
    switch (storage) {
    case SBT_COLUMN_CONSTANT: {
        uint64_t value = tsm_view_u64(in);
        for (size_t i = 0; i < count; i++)
            values[i] = value;
        return;
    }
    case SBT_COLUMN_FIXED1:
    case SBT_COLUMN_FIXED2:
    case SBT_COLUMN_FIXED4:
    case SBT_COLUMN_FIXED8:
        get_fixed(in, values, count, 1u << (storage - SBT_COLUMN_FIXED1));
        return;
    case SBT_COLUMN_VARINT:
        for (size_t i = 0; i < count && !in->failed; i++)
            values[i] = tsm_view_varint(in);
        return;
    case SBT_COLUMN_DICT:
        get_dict(in, values, count);
        return;
    case SBT_COLUMN_PLANES2:
    case SBT_COLUMN_PLANES4:
    case SBT_COLUMN_PLANES8:
        get_planes(in, values, count, 2u << (storage - SBT_COLUMN_PLANES2));
        return;
    default:
        in->failed = true;
    }
}

bool sbt_column_get(struct tsm_view *in, uint64_t *values, size_t count, uint32_t *storages)
{
    uint32_t size = tsm_view_u32(in);
    const uint8_t *bytes = tsm_view_take(in, size);
    struct tsm_view body;
    uint8_t encoding;

    if (!bytes || (count == 0) != (size == 0))
        return false;
    if (count == 0)
        return true;
    body = tsm_view_init(bytes, size);
    encoding = tsm_view_u8(&body);
    if (encoding & ~(SBT_COLUMN_DELTA | 0x0fu))
        return false;
    *storages |= 1u << (encoding & 0x0fu);
    get_body(&body, encoding & 0x0fu, values, count);
    if (body.failed || tsm_view_left(&body) != 0)
        return false;
    if (encoding & SBT_COLUMN_DELTA)
        from_deltas(values, count);
    return true;
}

bool sbt_column_skip(struct tsm_view *in)
{
    uint32_t size = tsm_view_u32(in);

    return tsm_view_take(in, size) != NULL;
}
