/* SPDX-License-Identifier: Apache-2.0
 *
 * Issuing recorded ioctls again.
 */
#include "api/drm/replay/replay.h"

#include "api/drm/describe.h"
#include "api/drm/replay/decode.h"
#include "format/filter.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HANDLE_LUT 0x1000u /* I915_EXEC_HANDLE_LUT */

/* One ioctl on its way. */
struct issue {
    struct drm_replay *r;
    const struct drm_ioctl *row;
    uint32_t file; /* as recorded */
    int fd;        /* here */
    uint64_t seq;
    bool gave_memory;           /* some of the program's own */
    struct drm_decoder in, out; /* what is issued; what the recorded call gave */
    uint8_t *argument;
    uint8_t *recorded; /* NULL: nothing came out */
};

/* Is the ioctl one of the file's driver? Another driver has other ioctls by the same number. */
static bool is_of_file(const struct drm_replay *r, const struct drm_ioctl *row, uint32_t file)
{
    const struct drm_replay_file *f = drm_file_numbered(r, file);

    return f && drm_ioctl_find((enum drm_node)f->node, f->family, row->request) == row;
}

int drm_call_plan(struct drm_replay *r, const struct sbt_record *record,
                  const struct sbt_schema *schema)
{
    const struct drm_ioctl *row = drm_ioctl_numbered(SBT_TYPE_CALL(record->type));

    if (record->flags & SBT_RECORD_FAILED)
        return 0;
    /* The trace lacks the bytes that the program read by this: a result that nothing is compared
     * with. */
    if (row && !strcmp(drm_text + row->name, "DRM_IOCTL_I915_GEM_PREAD"))
        r->unknown_count += sbt_filter_in_range(&r->options->filter, record);
    if (schema->kind == SBT_KIND_QUERY)
        return 0;
    if (row && row->flags & DRM_IOCTL_DISPLAY) {
        r->display_count++;
        return 0;
    }
    if (!row && SBT_TYPE_CALL(record->type) == DRM_RECORD_IOCTL)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "record %llu: ioctl 0x%llx is not known, so it is not issued again",
                        (unsigned long long)record->seq,
                        (unsigned long long)(record->slot_count > DRM_SLOT_REQUEST
                                                 ? record->slots[DRM_SLOT_REQUEST]
                                                 : 0));
    if (!row || !(row->flags & DRM_IOCTL_SAFE))
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "record %llu: %s is not among the ioctls that are safe to issue again",
                        (unsigned long long)record->seq, schema->name);
    if (record->slot_count > DRM_SLOT_COMMON &&
        !is_of_file(r, row, (uint32_t)record->slots[DRM_SLOT_FILE]))
        return tsm_fail(TSM_E_FORMAT,
                        "record %llu: %s is no ioctl of the file that the trace says it was for: "
                        "the trace is damaged",
                        (unsigned long long)record->seq, schema->name);
    return 0;
}

/* ---- numbers
 * --------------------------------------------------------------------------------------
 */

static bool translate(void *user, const struct drm_member *m, uint64_t *value)
{
    const struct issue *i = user;
    const char *name = drm_text + drm_objects[m->type];

    if (m->kind == DRM_KIND_FD && m->flags & DRM_MEMBER_NEW) {
        *value = *value ? (uint64_t)-1 : 0; /* DMA heaps demand 0 */
        return true;
    }
    if (m->kind == DRM_KIND_FD) {
        int fd = (int)*value < 0 ? -1 : drm_fd(i->r, (int)*value);
        *value = (uint64_t)(int64_t)fd; /* what is no descriptor is not read as one */
        return true;
    }
    if (m->flags & DRM_MEMBER_NEW)
        return true; /* what is there is for the kernel to judge, and to replace */
    if (!*value)
        return true;
    return drm_number_find(i->r, i->file, m->type, *value, name, value) == 0;
}

/* The recorded call gave one number, this one another. */
static int learn_number(const struct issue *i, const struct drm_member *m, uint64_t recorded,
                        uint64_t actual)
{
    const char *name = drm_text + drm_objects[m->type];

    if (m->kind == DRM_KIND_FD)
        return m->flags & DRM_MEMBER_NEW && !actual /* as it was given */
                   ? 0
                   : drm_fd_created(i->r, (int)recorded, (int)actual);
    if (!recorded)
        return 0;
    if (!strcmp(name, "resource"))
        return drm_resource_set(i->r, i->file, recorded, actual);
    return drm_number_set(i->r, i->file, m->type, recorded, actual);
}

/* xe's user fences: eight bytes that the device writes when it is done. */
static bool is_fence(const struct issue *i, const struct drm_member *m)
{
    return !strcmp(drm_text + m->name, "addr") &&
           !strncmp(drm_text + i->row->name, "DRM_IOCTL_XE_", strlen("DRM_IOCTL_XE_"));
}

/* A submit's are addresses of the device. Others may be memory of the program of which the trace
 * has nothing: the replay's own takes its place, and is set back before it is to be written again,
 * as programs do. */
static bool put_fence(struct issue *i, uint64_t *value)
{
    const struct drm_mapping wanted = {
        .address = *value, .size = sizeof(uint64_t), .file = i->file, .made_seq = i->seq};

    if (i->row->kind == SBT_KIND_COMMAND)
        return true;
    if (drm_memory_user(i->r, wanted, value) != 0)
        return false;
    if (i->row->kind != SBT_KIND_SYNC)
        memset((void *)(uintptr_t)*value, 0, sizeof(uint64_t));
    return true;
}

/* Translates an address of the program's memory. */
static bool put_address(void *user, const struct drm_member *m, uint64_t size, uint64_t *value)
{
    struct issue *i = user;
    const struct drm_mapping *known;

    if (i->row->maps_size.size)
        return true; /* comes out of the call */
    if (m->flags & DRM_MEMBER_USER) {
        struct drm_mapping wanted = {
            .address = *value, .size = size, .file = i->file, .made_seq = i->seq};
        i->gave_memory = true;
        return drm_memory_user(i->r, wanted, value) == 0;
    }
    if (is_fence(i, m))
        return put_fence(i, value);
    known = drm_memory_at(i->r, *value);
    if (known)
        *value = (uintptr_t)known->memory + (*value - known->address);
    else
        tsm_fail(TSM_E_UNSUPPORTED, "%s: the program's memory at 0x%llx is not in this trace",
                 drm_text + i->row->name, (unsigned long long)*value);
    return known;
}

static uint64_t load(const uint8_t *bytes, struct drm_place place)
{
    return drm_load(bytes + place.offset, place.size);
}

/* Notes the memory that the call has mapped, and the object that given memory belongs to. */
static int learn_memory(const struct issue *i)
{
    const struct drm_ioctl *row = i->row;
    struct drm_mapping *last = i->r->map_count ? &i->r->maps[i->r->map_count - 1] : NULL;

    if (!i->recorded)
        return 0;
    if (i->gave_memory && last && last->is_user && last->made_seq == i->seq)
        last->object = (uint32_t)drm_member_get(i->recorded, &drm_structs[row->out - 1], "handle");
    if (!row->maps_size.size)
        return 0;
    return drm_memory_created(
        i->r,
        (struct drm_mapping){.address = load(i->recorded, row->maps_address),
                             .size = load(i->recorded, row->maps_size),
                             .file = i->file,
                             .object = (uint32_t)load(i->recorded, row->maps_handle),
                             .made_seq = i->seq,
                             .memory = (void *)(uintptr_t)load(i->argument, row->maps_address)});
}

static int learn(const struct issue *i, uint32_t type, const uint8_t *recorded,
                 const uint8_t *actual)
{
    const struct drm_struct *t = &drm_structs[type];
    uint32_t count = t->flags & DRM_STRUCT_UNION ? (t->count ? 1 : 0) : t->count;
    int error = 0;

    for (uint32_t k = 0; k < count && !error; k++) {
        const struct drm_member *m = &drm_members[t->first + k];
        if (m->form != DRM_FORM_ONE)
            continue;
        if (m->kind == DRM_KIND_STRUCT && !(drm_structs[m->type].flags & DRM_STRUCT_BORROWED))
            error = learn(i, m->type, recorded + m->offset, actual + m->offset);
        else if (m->kind == DRM_KIND_HANDLE || m->kind == DRM_KIND_FD)
            error = learn_number(i, m, drm_load(recorded + m->offset, m->size),
                                 drm_load(actual + m->offset, m->size));
    }
    return error;
}

static int learn_offset(const struct issue *i)
{
    struct drm_place p = i->row->map_offset;

    if (!p.size || !i->recorded)
        return 0;
    return drm_number_set(i->r, i->file, DRM_NUMBER_OFFSET,
                          drm_load(i->recorded + p.offset, p.size),
                          drm_load(i->argument + p.offset, p.size));
}

/* ---- the call
 * -------------------------------------------------------------------------------------
 */

static int decode_slot(struct drm_decoder *d, const struct sbt_record *record, uint32_t index,
                       uint32_t type, uint8_t **out)
{
    struct sbt_value value;
    int error = sbt_reader_value(d->reader, record, index, &value);

    *out = NULL;
    if (error == 1)
        error = drm_decode(d, type, value.data, value.size, out);
    sbt_value_finish(&value);
    return error;
}

static int prepare(struct issue *i, const struct sbt_record *record)
{
    const struct drm_ioctl *row = i->row;
    uint32_t index = DRM_SLOT_COMMON;
    int error = 0;

    i->in = (struct drm_decoder){
        .reader = i->r->reader, .translate = translate, .address = put_address, .user = i};
    i->out = (struct drm_decoder){.reader = i->r->reader};
    if (row->into) {
        uint32_t type = row->into - 1u;
        if (!strncmp(drm_text + row->name, "DRM_IOCTL_I915_GEM_EXECBUFFER2", 30)) {
            uint8_t *plain;
            error = decode_slot(&i->out, record, index, type, &plain);
            i->in.keeps_targets = plain && drm_load(plain + 40, 8) & HANDLE_LUT;
        }
        if (!error)
            error = decode_slot(&i->in, record, index++, type, &i->argument);
    }
    if (!error && row->out)
        error = decode_slot(&i->out, record, index, row->out - 1u, &i->recorded);
    return error;
}

static int issue(const struct issue *i, uint32_t request)
{
    uint8_t nothing[16384] = {0};
    void *argument = i->argument ? i->argument : nothing;
    int result;

    if (i->row->flags & DRM_IOCTL_TEXT)
        argument = (void *)(uintptr_t)drm_load(argument, 8);
    do
        result = ioctl(i->fd, request, argument);
    while (result < 0 && drm_is_to_be_tried_again(i->row));
    return result;
}

/* Until it tells what it told the program. What the kernel wrote is no argument of the next try. */
static int issue_until_told(const struct issue *i, uint32_t request)
{
    size_t size = i->row->into ? drm_structs[i->row->into - 1].size : 0;
    uint8_t first[256];
    int result = 0;

    if (!i->row->tells.size || !i->argument || size > sizeof(first))
        return issue(i, request);
    memcpy(first, i->argument, size);
    while ((result = issue(i, request)) >= 0 &&
           !drm_reports_same(i->row, i->argument, i->recorded)) {
        memcpy(i->argument, first, size);
        usleep(100);
    }
    return result;
}

/* The descriptors in i915's submits: what goes in is translated, what comes out is learnt, if the
 * call writes it. */
static void put_fences(const struct issue *i)
{
    const struct drm_struct *type;
    uint64_t which = i->argument ? drm_fences_of(i->row, i->argument) : 0;
    uint64_t fds;

    if (!which)
        return;
    type = &drm_structs[i->row->into - 1];
    fds = drm_member_get(i->argument, type, "rsvd2");
    if (which & DRM_FENCE_IN)
        fds = (fds & ~DRM_FENCE_IN) | (uint32_t)drm_fd(i->r, (int)fds);
    if (which & DRM_FENCE_OUT)
        fds |= DRM_FENCE_OUT;
    drm_member_set(i->argument, type, "rsvd2", fds);
}

static int learn_fence_out(const struct issue *i)
{
    const struct drm_struct *type;

    if (!i->argument || !i->recorded || !(drm_fences_of(i->row, i->argument) & DRM_FENCE_OUT))
        return 0;
    type = &drm_structs[i->row->into - 1];
    return drm_fd_created(i->r, (int)(drm_member_get(i->recorded, type, "rsvd2") >> 32),
                          (int)(drm_member_get(i->argument, type, "rsvd2") >> 32));
}

static int issue_and_learn(struct issue *i, const struct sbt_record *record)
{
    uint32_t request = (uint32_t)record->slots[DRM_SLOT_REQUEST];
    uint32_t known = i->row->request;
    int error = prepare(i, record), result;

    if (error < 0)
        return error;
    /* Our struct has the size that these headers give it, and no other ioctl is issued. */
    if (request != known)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "record %llu: ioctl 0x%x is not %s as the headers of this build have it, "
                        "and not issued",
                        (unsigned long long)i->seq, request, drm_text + i->row->name);
    error = drm_virgl_translate(i->r, i->file, i->row, i->argument);
    if (error)
        return error;
    put_fences(i);
    error = drm_is_udmabuf(i->row) ? drm_udmabuf_prepare(i->row, i->argument) : 0;
    result = error ? -1 : issue_until_told(i, request);
    if (!error && result < 0)
        error = tsm_fail(TSM_E_DEVICE, "%s: %s", drm_text + i->row->name, strerror(errno));
    if (drm_is_udmabuf(i->row))
        drm_udmabuf_finish(i->row, i->argument);
    if (!error && i->row->returns != DRM_NODE_NONE)
        error = drm_fd_created(i->r, (int)record->result, result);
    if (error)
        return error;
    if (i->recorded && i->argument)
        error = learn(i, i->row->out - 1u, i->recorded, i->argument);
    if (error >= 0)
        error = drm_virgl_learn(i->r, i->file, i->row, i->argument, i->recorded);
    if (error >= 0)
        error = learn_fence_out(i);
    if (error >= 0)
        error = learn_memory(i);
    return error < 0 ? error : learn_offset(i);
}

/* The object that the call frees, as recorded; 0: none. */
static uint32_t freed_object(struct issue *i, const struct sbt_record *record)
{
    uint8_t *plain = NULL;

    if (!i->row->gone.size || !i->row->into ||
        decode_slot(&i->out, record, DRM_SLOT_COMMON, i->row->into - 1u, &plain) < 0 || !plain)
        return 0;
    return (uint32_t)load(plain, i->row->gone);
}

/* Nothing can wait for an object that is closed: what the device still does to it is waited for
 * now. */
static int issue_and_free(struct issue *i, const struct sbt_record *record)
{
    uint32_t object;
    int error;

    i->out = (struct drm_decoder){.reader = i->r->reader};
    object = freed_object(i, record);
    drm_decode_finish(&i->out);
    error = object ? drm_memory_wait_object(i->r, i->file, object) : 0;
    if (!error)
        error = issue_and_learn(i, record);
    for (uint32_t bo = 0; bo < DRM_OBJECT_COUNT && object && !error; bo++)
        if (!strcmp(drm_text + drm_objects[bo], "bo"))
            drm_number_forget(i->r, i->file, bo, object);
    if (object && !error)
        drm_memory_forget_object(i->r, i->file, object);
    return error;
}

int drm_call_issue(struct drm_replay *r, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    struct issue i = {.r = r, .row = drm_ioctl_numbered(SBT_TYPE_CALL(record->type))};
    int error;

    if (i.row && i.row->flags & DRM_IOCTL_DISPLAY)
        return 0;
    if (!i.row || record->slot_count <= DRM_SLOT_COMMON || !(i.row->flags & DRM_IOCTL_SAFE))
        return tsm_fail(TSM_E_UNSUPPORTED, "record %llu: not issued again",
                        (unsigned long long)record->seq);
    i.seq = record->seq;
    i.file = (uint32_t)record->slots[DRM_SLOT_FILE];
    i.fd = drm_fd(r, (int)record->slots[DRM_SLOT_FD]);
    if (i.fd < 0)
        return tsm_fail(TSM_E_NOT_FOUND, "record %llu: descriptor %d is not known",
                        (unsigned long long)record->seq, (int)record->slots[DRM_SLOT_FD]);
    if (!is_of_file(r, i.row, i.file) || !drm_file_is_open_as(r, i.file, i.fd))
        return tsm_fail(TSM_E_FORMAT,
                        "record %llu: descriptor %d is of another kind of file than the trace says",
                        (unsigned long long)record->seq, (int)record->slots[DRM_SLOT_FD]);
    error = issue_and_free(&i, record);
    drm_decode_finish(&i.in);
    drm_decode_finish(&i.out);
    return error;
}
