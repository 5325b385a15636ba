/* SPDX-License-Identifier: Apache-2.0
 *
 * Can the trace's code run here? Asked before anything runs: a replay that stops in the middle for
 * want of a kernel says less. PTX runs everywhere; machine code only on the GPUs that it was made
 * for. What we cannot judge is left to the driver.
 *
 * Layout facts: a fatbin is {u32 0xba55ed50, u16 version, u16 header size, u64 size} and entries
 * {u16 kind, u16 version, u32 header size, u64 size, 12 bytes, u32 architecture, ...} with kind 1
 * for PTX and 2 for ELF; a cubin is ELF64 for machine 190 and has its architecture in e_flags.
 */
#include "api/cuda/replay/state.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

#define FATBIN_MAGIC   0xba55ed50u
#define MACHINE_CUDA   190
#define CODE_LOOK_MAX  (256u << 20) /* larger images are left to the driver */
#define FUNCTION_SHOWN 4

struct cuda_code {
    struct cuda_code *next;
    uint64_t id; /* of the module or library made of it */
    bool is_library;
    uint64_t seq;
    unsigned function_count;
    char functions[192]; /* the first few names */
    uint64_t size;
    uint8_t blob[]; /* encoded, as in the record */
};

/* ---- planning ----------------------------------------------------------------------------- */

static void note_function(struct cuda_replay *replay, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    uint64_t parent = sbt_record_role(schema, record, SBT_ROLE_PARENT, 0);
    uint64_t name = sbt_record_role(schema, record, SBT_ROLE_NAME, 0);
    const char *text = name ? sbt_reader_string(replay->reader, (uint32_t)name) : NULL;
    struct cuda_code *code = replay->codes;
    size_t used;

    while (code && code->id != parent)
        code = code->next;
    if (!code || !text || code->function_count++ >= FUNCTION_SHOWN)
        return;
    used = strlen(code->functions);
    tsm_format(code->functions + used, sizeof(code->functions) - used, "%s%s", used ? ", " : "",
               text);
}

int cuda_code_plan(struct cuda_replay *replay, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    int index = sbt_schema_role(schema, SBT_ROLE_CODE);
    const uint8_t *reference;
    struct cuda_code *code;
    struct sbt_blob blob;
    size_t size;

    if (schema->kind == SBT_KIND_CREATE && index < 0)
        note_function(replay, record, schema);
    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob) ||
        !sbt_record_bytes(record, (uint32_t)index, &reference, &size))
        return 0;
    code = calloc(1, sizeof(*code) + size);
    if (!code)
        return tsm_fail(TSM_E_MEMORY, "no memory for a code object");
    code->id = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);
    code->is_library = object >= 0 && !strcmp(schema->fields[object].detail, "library");
    code->seq = record->seq;
    code->size = size;
    if (size)
        memcpy(code->blob, reference, size);
    code->next = replay->codes;
    replay->codes = code;
    return 0;
}

void cuda_code_finish(struct cuda_replay *replay)
{
    while (replay->codes) {
        struct cuda_code *code = replay->codes;
        replay->codes = code->next;
        free(code);
    }
}

/* ---- judging ------------------------------------------------------------------------------ */

struct target {
    bool runs_ptx_only;
    int capability; /* 75 for 7.5 */
};

/* Machine code runs on GPUs of the same generation that are not older. */
static bool runs(const struct target *target, unsigned architecture)
{
    if (target->runs_ptx_only)
        return false;
    if (!architecture || architecture > 999)
        return true;
    return (int)architecture / 10 == target->capability / 10 &&
           (int)architecture <= target->capability;
}

static unsigned elf_architecture(const uint8_t *data)
{
    uint32_t flags = tsm_get_u32(data + offsetof(Elf64_Ehdr, e_flags));

    /* From ABI version 8 on (CUDA 13) the low byte is something else. */
    return data[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xffff : flags & 0xff;
}

static bool elf_runs(const struct target *target, const uint8_t *data, size_t size)
{
    if (size < sizeof(Elf64_Ehdr) ||
        tsm_get_u16(data + offsetof(Elf64_Ehdr, e_machine)) != MACHINE_CUDA)
        return true;
    return runs(target, elf_architecture(data));
}

static bool fatbin_runs(const struct target *target, const uint8_t *data, size_t size)
{
    struct tsm_view v = tsm_view_init(data, size);
    bool any = false;

    tsm_view_take(&v, 6);
    uint16_t header = tsm_view_u16(&v);
    tsm_view_take(&v, header > 8 ? header - 8u : 8u);
    while (!v.failed && tsm_view_left(&v) >= 32) {
        const uint8_t *entry = v.at;
        uint16_t kind = tsm_get_u16(entry);
        uint64_t length = (uint64_t)tsm_get_u32(entry + 4) + tsm_get_u64(entry + 8);
        any = true;
        if (kind == 1 || (kind == 2 && runs(target, tsm_get_u32(entry + 28))))
            return true;
        if (length < 32 || !tsm_view_take(&v, length))
            break;
    }
    return !any;
}

static bool image_runs(const struct target *target, const uint8_t *data, size_t size)
{
    if (size >= 16 && tsm_get_u32(data) == FATBIN_MAGIC)
        return fatbin_runs(target, data, size);
    if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG))
        return elf_runs(target, data, size);
    return true;
}

/* *image is the caller's to free; NULL: too large to look at. */
static int read_code(struct cuda_replay *replay, const struct cuda_code *code, uint8_t **image,
                     uint64_t *size)
{
    struct sbt_record record = {
        .slots = &code->size, .slot_count = 1, .data = code->blob, .data_size = code->size};
    struct sbt_blob blob;

    *image = NULL;
    *size = 0;
    if (!sbt_record_blob(&record, 0, &blob))
        return 0;
    *size = blob.size;
    if (!blob.size || blob.size > CODE_LOOK_MAX)
        return 0;
    *image = malloc(blob.size);
    if (!*image)
        return tsm_fail(TSM_E_MEMORY, "no memory for a code object");
    return sbt_reader_blob(replay->reader, &blob, 0, *image, blob.size);
}

int cuda_code_each(struct cuda_replay *replay,
                   int (*visit)(void *user, bool is_library, uint64_t id, const uint8_t *image,
                                uint64_t size),
                   void *user)
{
    int error = 0;

    for (const struct cuda_code *code = replay->codes; code && error >= 0; code = code->next) {
        uint8_t *image;
        uint64_t size;
        error = read_code(replay, code, &image, &size);
        if (error >= 0 && image)
            error = visit(user, code->is_library, code->id, image, size);
        free(image);
    }
    return error < 0 ? error : 0;
}

static int check_code(struct cuda_replay *replay, const struct cuda_code *code,
                      const struct target *target)
{
    uint8_t *image;
    uint64_t size;
    int error = read_code(replay, code, &image, &size);

    if (error >= 0 && image && !image_runs(target, image, size))
        error = tsm_fail(
            TSM_E_UNSUPPORTED, "record %llu: code for another GPU, without PTX (kernels: %s%s)",
            (unsigned long long)code->seq, *code->functions ? code->functions : "not asked for",
            code->function_count > FUNCTION_SHOWN ? ", ..." : "");
    free(image);
    return error < 0 ? error : 0;
}

int cuda_code_capability(const struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    int major = 0, minor = 0;

    driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                 cuda_device_main(replay));
    driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                 cuda_device_main(replay));
    return major * 10 + minor;
}

int cuda_code_check(struct cuda_replay *replay)
{
    const struct target target = {.runs_ptx_only = replay->library.is_emu,
                                  .capability = cuda_code_capability(replay)};
    int error = 0;

    for (const struct cuda_code *code = replay->codes; code && !error; code = code->next)
        error = check_code(replay, code, &target);
    return error;
}
