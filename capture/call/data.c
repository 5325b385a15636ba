/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of a call that are more than a number: strings, bytes, structs, blobs.
 */
#include "capture/call/path.h"
#include "capture/call/intern.h"
#include "capture/call/payload.h"

void tsm_call_string(struct tsm_call *call, const char *text)
{
    tsm_call_slot(call, text ? tsm_intern_in(call->lane->session, text, strlen(text)) : 0);
}

void tsm_call_bytes(struct tsm_call *call, const void *data, size_t size)
{
    if (size > TSM_BYTES_MAX) {
        size = TSM_BYTES_MAX;
        cut(call);
    }
    add_span(call, data, data ? (uint32_t)size : 0, false);
}

/* A reference to the box's bytes, which are stored now, behind `before` bytes of the caller's;
 * NULL: it cannot be had. */
static uint8_t *store(struct tsm_call *call, const struct tsm_box *box, uint32_t before,
                      uint32_t *size)
{
    uint64_t encoded = before + SBT_BLOB_ENCODED_SIZE(tsm_box_size(box));
    struct tsm_lane *lane = call->lane;
    bool fits = !(call->info & NOT_KEPT) && encoded + call->data_size < lane->size / 4;
    uint8_t *out = fits && box->data ? tsm_scratch_take(lane, encoded) : NULL;

    *size = (uint32_t)encoded;
    return out && tsm_payload_store(lane, box, TSM_FETCH_DIRECT, out + before) ? out : NULL;
}

void tsm_call_blob_box(struct tsm_call *call, const struct tsm_box *box)
{
    static const uint8_t empty[8];
    uint32_t size;
    const uint8_t *reference = store(call, box, 0, &size);

    if (reference) {
        add_span(call, reference, size, false);
        return;
    }
    if (tsm_box_size(box) > 0)
        cut(call);
    add_span(call, empty, sizeof(empty), false);
}

/* By reference. */
static __attribute__((noinline, cold)) void put_large_struct(struct tsm_call *call,
                                                             const void *value, size_t size)
{
    struct tsm_box box = {value, size, 1, 1, size, size};
    uint8_t *reference = NULL;
    uint32_t encoded;

    if (size <= SBT_VALUE_MAX)
        reference = store(call, &box, 1, &encoded);
    if (reference) {
        reference[0] = 1;
        add_span(call, reference, encoded, false);
        return;
    }
    cut(call);
    tsm_call_slot(call, 0);
}

void tsm_call_struct(struct tsm_call *call, const void *value, size_t size)
{
    if (!value)
        tsm_call_slot(call, 0);
    else if (size <= TSM_BYTES_MAX)
        add_span(call, value, (uint32_t)size, true);
    else
        put_large_struct(call, value, size);
}

void tsm_call_blob(struct tsm_call *call, const void *data, uint64_t size)
{
    struct tsm_box box = {data, size, 1, 1, size, size};

    tsm_call_blob_box(call, &box);
}

/* Most spans are a few bytes: two overlapping words hold them, and cost less than a call. */
static inline void copy_span(uint8_t *out, const uint8_t *in, uint32_t size)
{
    if (UNLIKELY(size > 16)) {
        memcpy(out, in, size);
    } else if (size >= 8) {
        uint64_t first, last;
        memcpy(&first, in, 8);
        memcpy(&last, in + size - 8, 8);
        memcpy(out, &first, 8);
        memcpy(out + size - 8, &last, 8);
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, in, 4);
        memcpy(&last, in + size - 4, 4);
        memcpy(out, &first, 4);
        memcpy(out + size - 4, &last, 4);
    } else if (size) {
        out[0] = in[0];
        out[size / 2] = in[size / 2];
        out[size - 1] = in[size - 1];
    }
}

/* A span of 0 bytes: the program may have left the argument out. */
void tsm_call_write_spans(uint8_t *data, const struct tsm_call *call)
{
    for (uint32_t i = 0; i < call->span_count; i++) {
        if (call->spans[i].tagged)
            *data++ = 0;
        copy_span(data, call->spans[i].data, call->spans[i].size);
        data += call->spans[i].size;
    }
}
