/* SPDX-License-Identifier: Apache-2.0 */
#include "api/nvtx/source/source.h"

#include <stddef.h>
#include <string.h>

/* nvtxEventAttributes_t, the same since its first version. */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};
_Static_assert(sizeof(struct attributes) == 48, "it is NVTX's");

enum { COLOR_ARGB = 1 };
enum { MESSAGE_BYTES = 1, MESSAGE_WIDE, MESSAGE_REGISTERED };

/* Tests whether the program's struct has the whole member. */
#define HAS(a, member) ((a)->size >= offsetof(struct attributes, member) + sizeof((a)->member))

static void read_message(struct nvtx_label *out, const struct attributes *a)
{
    if (!HAS(a, message))
        return;
    if (a->message_type == MESSAGE_BYTES)
        out->text = a->message;
    else if (a->message_type == MESSAGE_WIDE)
        out->wide = a->message;
    else if (a->message_type == MESSAGE_REGISTERED)
        out->registered = nvtx_text_of(a->message);
}

/* Types of NVTX's extensions say where more memory lies: not read. */
static void read_payload(struct nvtx_label *out, const struct attributes *a)
{
    if (!HAS(a, payload) || a->payload_type <= SBT_PAYLOAD_NONE ||
        a->payload_type > SBT_PAYLOAD_FLOAT)
        return;
    out->payload_type = (uint32_t)a->payload_type;
    out->payload = a->payload_type >= SBT_PAYLOAD_UINT32 ? (uint32_t)a->payload : a->payload;
}

void nvtx_attributes_read(struct nvtx_label *out, const void *attributes)
{
    struct attributes a = {0};

    if (!attributes)
        return;
    memcpy(&a, attributes, offsetof(struct attributes, category));
    if (!a.version)
        return;
    if (a.size > offsetof(struct attributes, category))
        memcpy(&a, attributes, a.size < sizeof(a) ? a.size : sizeof(a));
    if (HAS(&a, category))
        out->category = a.category;
    if (HAS(&a, color) && a.color_type == COLOR_ARGB)
        out->color = a.color;
    read_payload(out, &a);
    read_message(out, &a);
}
