/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of virgl name resources by numbers that the kernel gives. They lie at places that depend
 * on the command; here they get the numbers of the replay's device.
 */
#include "api/drm/replay/replay.h"

#include "base/bytes.h"

#include <string.h>

/* Words of a command that are resources: one at `first`, `second` (from 1 after the head, 0:
 * none); `every` words from `first` on there is another one. */
struct places {
    uint8_t first, second, every;
};

/* Places in CREATE_OBJECT, by kind of object. */
static const struct places objects[] = {
    [6] = {2, 0, 0},  /* sampler view */
    [8] = {2, 0, 0},  /* surface */
    [9] = {4, 0, 0},  /* query */
    [10] = {2, 0, 0}, /* stream output */
    [11] = {2, 0, 0}, /* surface with samples */
};

#define CREATE_OBJECT 1u
#define KNOWN_COUNT   53u /* commands from here on may name resources where we do not look */

static const struct places commands[KNOWN_COUNT] = {
    [6] = {3, 0, 3},   /* SET_VERTEX_BUFFERS */
    [8] = {15, 20, 0}, /* DRAW_VBO: of an indirect one */
    [9] = {1, 0, 0},   /* RESOURCE_INLINE_WRITE */
    [11] = {1, 0, 0},  /* SET_INDEX_BUFFER */
    [16] = {4, 13, 0}, /* BLIT */
    [17] = {1, 6, 0},  /* RESOURCE_COPY_REGION */
    [27] = {5, 0, 0},  /* SET_UNIFORM_BUFFER */
    [34] = {5, 0, 3},  /* SET_SHADER_BUFFERS */
    [35] = {7, 0, 5},  /* SET_SHADER_IMAGES */
    [37] = {7, 0, 0},  /* LAUNCH_GRID: of an indirect one */
    [40] = {4, 0, 3},  /* SET_ATOMIC_BUFFERS */
    [42] = {2, 0, 0},  /* GET_QUERY_RESULT_QBO */
    [43] = {1, 0, 0},  /* TRANSFER3D */
    [45] = {1, 12, 0}, /* COPY_TRANSFER3D */
    [47] = {1, 0, 0},  /* CLEAR_TEXTURE */
    [49] = {1, 0, 0},  /* PIPE_RESOURCE_SET_TYPE */
    [50] = {1, 0, 0},  /* GET_MEMORY_INFO */
};

static int put_number(struct drm_replay *r, uint32_t device, uint8_t *word)
{
    uint64_t actual;
    uint32_t recorded = tsm_get_u32(word);
    int error = recorded
                    ? drm_number_find(r, device, DRM_NUMBER_RESOURCE, recorded, "resource", &actual)
                    : 0;

    if (recorded && !error)
        tsm_put_u32(word, (uint32_t)actual);
    return error;
}

static int rewrite(struct drm_replay *r, uint32_t device, uint8_t *head, uint32_t length)
{
    uint32_t command = head[0], object = head[1], at;
    struct places p = {0};
    int error = 0;

    if (command == CREATE_OBJECT)
        p = object < sizeof(objects) / sizeof(objects[0]) ? objects[object] : p;
    else if (command < KNOWN_COUNT)
        p = commands[command];
    else
        return tsm_fail(TSM_E_UNSUPPORTED, "virgl command %u is not known: it may name resources",
                        command);
    for (at = p.first; at && at <= length && !error; at = p.every ? at + p.every : 0)
        error = put_number(r, device, head + 4 * (size_t)at);
    if (!error && p.second && p.second <= length)
        error = put_number(r, device, head + 4 * (size_t)p.second);
    return error;
}

static int rewrite_all(struct drm_replay *r, uint32_t device, uint8_t *bytes, size_t size)
{
    int error = 0;

    for (size_t at = 0; bytes && at + 4 <= size && !error;) {
        uint32_t length = tsm_get_u16(bytes + at + 2);
        if (length > (size - at) / 4 - 1)
            return tsm_fail(TSM_E_FORMAT, "a virgl command of %u words is cut off", length);
        error = rewrite(r, device, bytes + at, length);
        at += 4 + 4 * (size_t)length;
    }
    return error;
}

/* ---- what concerns it --------------------------------------------------------------------- */

#define PARAM_CAPSET 1u /* VIRTGPU_CONTEXT_PARAM_CAPSET_ID; {param, value}, 64 bits each */
#define CAPSET_VIRGL 2u /* 1 and 2; others speak other languages */

static int check_language(const uint8_t *argument, const struct drm_struct *type)
{
    const uint8_t *params =
        (const uint8_t *)(uintptr_t)drm_member_get(argument, type, "ctx_set_params");
    uint64_t count = drm_member_get(argument, type, "num_params");

    for (uint64_t i = 0; params && i < count;
         i++) /* the decoder has seen to it that they are there */
        if (tsm_get_u64(params + 16 * i) == PARAM_CAPSET &&
            tsm_get_u64(params + 16 * i + 8) > CAPSET_VIRGL)
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "commands of capset %llu may name resources; only virgl's are known",
                            (unsigned long long)tsm_get_u64(params + 16 * i + 8));
    return 0;
}

static uint32_t device_of(const struct drm_replay *r, uint32_t file)
{
    const struct drm_replay_file *f = drm_file_numbered(r, file);

    return f ? f->device : 0;
}

int drm_resource_set(struct drm_replay *r, uint32_t file, uint64_t recorded, uint64_t actual)
{
    return drm_number_set(r, device_of(r, file), DRM_NUMBER_RESOURCE, recorded, actual);
}

#define BIND_QUERY_BUFFER (1u << 17)

int drm_virgl_learn(struct drm_replay *r, uint32_t file, const struct drm_ioctl *row,
                    const uint8_t *argument, const uint8_t *made)
{
    const struct drm_struct *type = row->into ? &drm_structs[row->into - 1] : NULL;

    if (!type || !argument || !made ||
        strcmp(drm_text + row->name, "DRM_IOCTL_VIRTGPU_RESOURCE_CREATE") != 0)
        return 0;
    return drm_number_set(r, file, DRM_NUMBER_RESULTS, drm_member_get(made, type, "bo_handle"),
                          (drm_member_get(argument, type, "bind") & BIND_QUERY_BUFFER) != 0);
}

int drm_virgl_translate(struct drm_replay *r, uint32_t file, const struct drm_ioctl *row,
                        uint8_t *argument)
{
    const struct drm_struct *type = row->into ? &drm_structs[row->into - 1] : NULL;
    const char *name = drm_text + row->name;

    if (!type || !argument || strncmp(name, "DRM_IOCTL_VIRTGPU_", 18) != 0)
        return 0;
    if (!strcmp(name, "DRM_IOCTL_VIRTGPU_CONTEXT_INIT"))
        return check_language(argument, type);
    if (strcmp(name, "DRM_IOCTL_VIRTGPU_EXECBUFFER") != 0)
        return 0;
    return rewrite_all(r, device_of(r, file),
                       (uint8_t *)(uintptr_t)drm_member_get(argument, type, "command"),
                       drm_member_get(argument, type, "size"));
}
