/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/view/nvidia.h"

#include "base/array.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum {
    RM_FREE = 0x29,
    RM_CONTROL = 0x2a,
    RM_ALLOC = 0x2b,
    CHECK_VERSION = 210,
    XFER_CMD = 211, /* carries another one, whose argument is too large for an ioctl's number */
};

static const struct {
    uint8_t number;
    const char *name;
} names[] = {
    {0x27, "NV_ESC_RM_ALLOC_MEMORY"},
    {0x28, "NV_ESC_RM_ALLOC_OBJECT"},
    {RM_FREE, "NV_ESC_RM_FREE"},
    {RM_CONTROL, "NV_ESC_RM_CONTROL"},
    {RM_ALLOC, "NV_ESC_RM_ALLOC"},
    {0x32, "NV_ESC_RM_CONFIG_GET"},
    {0x33, "NV_ESC_RM_CONFIG_SET"},
    {0x34, "NV_ESC_RM_DUP_OBJECT"},
    {0x35, "NV_ESC_RM_SHARE"},
    {0x37, "NV_ESC_RM_CONFIG_GET_EX"},
    {0x38, "NV_ESC_RM_CONFIG_SET_EX"},
    {0x39, "NV_ESC_RM_I2C_ACCESS"},
    {0x41, "NV_ESC_RM_IDLE_CHANNELS"},
    {0x4a, "NV_ESC_RM_VID_HEAP_CONTROL"},
    {0x4d, "NV_ESC_RM_ACCESS_REGISTRY"},
    {0x4e, "NV_ESC_RM_MAP_MEMORY"},
    {0x4f, "NV_ESC_RM_UNMAP_MEMORY"},
    {0x52, "NV_ESC_RM_GET_EVENT_DATA"},
    {0x54, "NV_ESC_RM_ALLOC_CONTEXT_DMA2"},
    {0x56, "NV_ESC_RM_ADD_VBLANK_CALLBACK"},
    {0x57, "NV_ESC_RM_MAP_MEMORY_DMA"},
    {0x58, "NV_ESC_RM_UNMAP_MEMORY_DMA"},
    {0x59, "NV_ESC_RM_BIND_CONTEXT_DMA"},
    {0x5c, "NV_ESC_RM_EXPORT_OBJECT_TO_FD"},
    {0x5d, "NV_ESC_RM_IMPORT_OBJECT_FROM_FD"},
    {0x5e, "NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO"},
    {200, "NV_ESC_CARD_INFO"},
    {201, "NV_ESC_REGISTER_FD"},
    {206, "NV_ESC_ALLOC_OS_EVENT"},
    {207, "NV_ESC_FREE_OS_EVENT"},
    {209, "NV_ESC_STATUS_CODE"},
    {CHECK_VERSION, "NV_ESC_CHECK_VERSION_STR"},
    {XFER_CMD, "NV_ESC_IOCTL_XFER_CMD"},
    {212, "NV_ESC_ATTACH_GPUS_TO_FD"},
    {213, "NV_ESC_QUERY_DEVICE_INTR"},
    {214, "NV_ESC_SYS_PARAMS"},
    {217, "NV_ESC_EXPORT_TO_DMABUF_FD"},
    {218, "NV_ESC_WAIT_OPEN_COMPLETE"},
};

static const char *name_of(uint32_t number)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

/* ---- names by branch of the driver ----------------------------------------------------------- */

struct named {
    uint32_t number;
    uint16_t first, last; /* branch of the driver */
    const char *name;
};

/* By number; names of one number from the oldest to the newest. */
static const struct named controls[] = {
#include "api/drm/nvidia_controls.inc"
};
static const struct named classes[] = {
#include "api/drm/nvidia_classes.inc"
};
static const struct named uvm[] = {
#include "api/drm/nvidia_uvm.inc"
};

static const struct {
    const struct named *rows;
    size_t count;
} tables[] = {
    [TSM_NVIDIA_CONTROL] = {controls, sizeof(controls) / sizeof(controls[0])},
    [TSM_NVIDIA_CLASS] = {classes, sizeof(classes) / sizeof(classes[0])},
    [TSM_NVIDIA_UVM] = {uvm, sizeof(uvm) / sizeof(uvm[0])},
};

static size_t first_of(const struct named *rows, size_t count, uint32_t number)
{
    size_t at;

    TSM_BISECT(at, count, rows[at].number >= number);
    return at;
}

const char *tsm_nvidia_named(enum tsm_nvidia_what what, uint32_t number, unsigned branch,
                             bool *sure)
{
    const struct named *rows = tables[what].rows;
    size_t count = tables[what].count, begin = first_of(rows, count, number), end = begin;

    while (end < count && rows[end].number == number)
        end++;
    if (begin == end)
        return NULL;
    *sure = end - begin == 1 || branch;
    while (branch && end - begin > 1 && rows[end - 1].first > branch)
        end--;
    return rows[end - 1].name;
}

const char *tsm_nvidia_name(uint32_t request, bool is_uvm)
{
    bool sure;

    if (is_uvm)
        return tsm_nvidia_named(TSM_NVIDIA_UVM, request, 0, &sure);
    return (request >> 8 & 0xff) == 'F' ? name_of(request & 0xff) : NULL;
}

/* u32 command, u32 reply, then the version as text of 64 bytes. */
enum { VERSION_SIZE = 72, VERSION_TEXT = 8 };

unsigned tsm_nvidia_branch(const struct tsm_nvidia_call *call)
{
    const uint8_t *from = call->in_size == VERSION_SIZE && call->in[VERSION_TEXT] ? call->in : NULL;
    char text[VERSION_SIZE - VERSION_TEXT + 1] = "";

    if (!from && call->out_size == VERSION_SIZE)
        from = call->out;
    if ((call->request & 0xffff) != ('F' << 8 | CHECK_VERSION) || !from)
        return 0;
    memcpy(text, from + VERSION_TEXT, VERSION_SIZE - VERSION_TEXT);
    return (unsigned)strtoul(text, NULL, 10);
}

/* ---- arguments
 * ----------------------------------------------------------------------------------------
 */

/* Members of 32 bits, and where the status comes out; the names end with NULL. */
struct layout {
    uint8_t number;
    uint8_t size;   /* of the struct; several versions have several */
    uint8_t status; /* offset */
    struct {
        const char *name;
        uint8_t offset;
    } members[6];
};

enum { COMMAND_MEMBER = 2, CLASS_MEMBER = 3 }; /* of RM_CONTROL, of RM_ALLOC */

static const struct layout layouts[] = {
    {RM_FREE, 16, 12, {{"client", 0}, {"parent", 4}, {"object", 8}}},
    {RM_CONTROL,
     32,
     28,
     {{"client", 0}, {"object", 4}, {"command", 8}, {"flags", 12}, {"parameters_size", 24}}},
    {RM_ALLOC,
     32,
     28,
     {{"client", 0}, {"parent", 4}, {"object", 8}, {"class", 12}, {"parameters_size", 24}}},
    {RM_ALLOC,
     48,
     40,
     {{"client", 0}, {"parent", 4}, {"object", 8}, {"class", 12}, {"parameters_size", 32}}},
};

static void put_hex(struct tsm_text_line *line, const char *before, const char *name,
                    uint64_t value)
{
    tsm_text_line_text(line, before);
    tsm_text_line_text(line, name);
    tsm_text_line_text(line, "=");
    tsm_text_line_hex(line, value);
}

static void put_carried(struct tsm_text_line *line, const uint8_t *in)
{
    const char *name = name_of(tsm_get_u32(in));

    tsm_text_line_text(line, ", ");
    if (name)
        tsm_text_line_text(line, name);
    else
        tsm_text_line_hex(line, tsm_get_u32(in));
    put_hex(line, " ", "size", tsm_get_u32(in + 4));
}

static void put_named(struct tsm_text_line *line, enum tsm_nvidia_what what, uint32_t number,
                      unsigned branch)
{
    bool sure;
    const char *name = tsm_nvidia_named(what, number, branch, &sure);

    if (!name)
        return;
    tsm_text_line_text(line, " (");
    tsm_text_line_text(line, name);
    tsm_text_line_text(line, sure ? ")" : "?)");
}

static void put_members(struct tsm_text_line *line, const struct layout *l, const uint8_t *in,
                        unsigned branch)
{
    for (size_t k = 0; k < 6 && l->members[k].name; k++) {
        uint32_t value = tsm_get_u32(in + l->members[k].offset);

        put_hex(line, k ? " " : ", ", l->members[k].name, value);
        if (l->number == RM_CONTROL && k == COMMAND_MEMBER)
            put_named(line, TSM_NVIDIA_CONTROL, value, branch);
        if (l->number == RM_ALLOC && k == CLASS_MEMBER)
            put_named(line, TSM_NVIDIA_CLASS, value, branch);
    }
}

bool tsm_nvidia_put(struct tsm_text_line *line, const struct tsm_nvidia_call *call, unsigned branch)
{
    uint32_t number = call->request & 0xff;

    if (number == XFER_CMD && call->in_size == 16) {
        put_carried(line, call->in);
        return true;
    }
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *l = &layouts[i];
        if (l->number != number || l->size != call->in_size)
            continue;
        put_members(line, l, call->in, branch);
        if (call->out_size == call->in_size)
            put_hex(line, " => ", "status", tsm_get_u32(call->out + l->status));
        return true;
    }
    return false;
}
