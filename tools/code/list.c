/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/code/list.h"

#include "api/cuda/view/kernel_facts.h"
#ifdef TSM_HSA
#include "api/hsa/code.h"
#endif
#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/demangle.h"
#include "tools/text/param_kind.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define MEMBER_MAX 65536u

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the code of a trace");
}

const char *tsm_code_kind_name(enum tsm_code_kind kind)
{
    static const char *const names[] = {
        [TSM_CODE_UNKNOWN] = "unknown",
        [TSM_CODE_MISSING] = "missing",
        [TSM_CODE_FATBIN] = "fatbin",
        [TSM_CODE_PTX] = "PTX",
        [TSM_CODE_CUBIN] = "cubin",
        [TSM_CODE_AMD] = "HSA code object",
        [TSM_CODE_X86] = "x86-64 code object",
    };

    return names[kind];
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

static const struct tsm_code_kernel unknown = {
    .registers = TSM_CODE_NUMBER_UNKNOWN,
    .scalar_registers = TSM_CODE_NUMBER_UNKNOWN,
    .shared = TSM_CODE_NUMBER_UNKNOWN,
    .local = TSM_CODE_NUMBER_UNKNOWN,
    .constant = TSM_CODE_NUMBER_UNKNOWN,
    .max_threads = TSM_CODE_NUMBER_UNKNOWN,
    .block = {TSM_CODE_NUMBER_UNKNOWN},
};

static void forget_kernel(struct tsm_code_kernel *kernel)
{
    free(kernel->name);
    free(kernel->plain);
    free(kernel->params);
}

/* Returns a kernel with room for its parameters; NULL: no memory. */
static struct tsm_code_kernel *add_kernel(struct tsm_code_member *member, const char *name,
                                          uint32_t param_count)
{
    struct tsm_code_kernel kernel = unknown;
    bool added;
    uint64_t *place = tsm_map_insert(&member->by_name, tsm_hash64(name, strlen(name)), &added);

    kernel.name = strdup(name);
    kernel.plain = tsm_demangle(name);
    kernel.params = calloc(param_count + 1, sizeof(*kernel.params));
    kernel.param_count = param_count;
    if (!place || !kernel.name || !kernel.params ||
        !TSM_ARRAY_PUSH(member->kernels, member->count, member->capacity, kernel)) {
        forget_kernel(&kernel);
        return NULL;
    }
    *place = member->count;
    return &member->kernels[member->count - 1];
}

static struct tsm_code_kernel *find_kernel(const struct tsm_code_member *member, const char *name)
{
    const uint64_t place = tsm_map_get(&member->by_name, tsm_hash64(name, strlen(name)), 0);
    struct tsm_code_kernel *kernel =
        place && place <= member->count ? &member->kernels[place - 1] : NULL;

    return kernel && strcmp(kernel->name, name) == 0 ? kernel : NULL;
}

/* ---- CUDA -------------------------------------------------------------------------------------
 */

static int add_cuda_kernel(struct tsm_code_member *member, const struct cuda_kernel_facts *facts)
{
    struct tsm_code_kernel *kernel = add_kernel(member, facts->name, facts->param_count);

    if (!kernel)
        return no_memory();
    for (uint32_t i = 0; i < facts->param_count; i++) {
        kernel->params[i].offset = facts->params[i].offset;
        kernel->params[i].size = facts->params[i].size;
        tsm_param_kind(kernel->params[i].kind, &facts->params[i]);
    }
    kernel->has_params = true;
    kernel->registers = facts->registers;
    kernel->shared = facts->shared;
    kernel->local = facts->local;
    kernel->constant = facts->constant;
    kernel->max_threads = facts->max_threads;
    memcpy(kernel->block, facts->block, sizeof(kernel->block));
    kernel->text_at = facts->text_at;
    kernel->text_size = facts->text_size;
    return 0;
}

/* Code whose members are being collected. */
struct collection {
    struct tsm_code *code;
    int error;
};

static int add_member(struct tsm_code *code, const struct tsm_code_member *member)
{
    return TSM_ARRAY_PUSH(code->members, code->member_count, code->member_capacity, *member)
               ? 0
               : no_memory();
}

static void add_cuda_member(void *context, const struct cuda_member *found)
{
    struct collection *c = context;
    struct tsm_code_member member = {.kind = found->is_ptx ? TSM_CODE_PTX : TSM_CODE_CUBIN,
                                     .is_packed = found->is_packed,
                                     .size = found->size};
    struct cuda_code_facts facts;

    if (c->error || c->code->member_count == MEMBER_MAX)
        return;
    c->error = cuda_code_facts_read(&facts, found);
    if (!c->error)
        c->error = add_member(c->code, &member);
    if (!c->error) {
        struct tsm_code_member *added = &c->code->members[c->code->member_count - 1];
        memcpy(added->version, facts.version, sizeof(added->version));
        tsm_format(added->target, sizeof(added->target), "%s", facts.target);
        for (size_t i = 0; i < facts.count && !c->error; i++)
            c->error = add_cuda_kernel(added, &facts.kernels[i]);
    }
    cuda_code_facts_finish(&facts);
}

/* Text that begins like PTX, or has kernels like it. */
static bool is_cuda(const struct tsm_code *code)
{
    const struct tsm_code_member *m = code->members;

    return code->kind == TSM_CODE_FATBIN || m[0].kind == TSM_CODE_CUBIN || m[0].count ||
           *m[0].version;
}

static int read_cuda(struct tsm_code *code, const uint8_t *data, size_t size)
{
    struct collection c = {.code = code};

    cuda_image_members(data, size, add_cuda_member, &c);
    if (c.error)
        return c.error;
    code->kind = cuda_image_is_fatbin(data, size) ? TSM_CODE_FATBIN
                 : code->member_count             ? code->members[0].kind
                                                  : TSM_CODE_UNKNOWN;
    if (code->kind != TSM_CODE_UNKNOWN && code->kind != TSM_CODE_FATBIN && !is_cuda(code))
        code->kind = code->members[0].kind = TSM_CODE_UNKNOWN;
    return 0;
}

/* ---- HSA --------------------------------------------------------------------------------------
 */

#ifdef TSM_HSA
static uint32_t or_unknown(uint32_t value)
{
    return value ? value : TSM_CODE_NUMBER_UNKNOWN;
}

static int add_hsa_kernel(struct tsm_code_member *member, const struct hsa_code_kernel *found)
{
    struct tsm_code_kernel *kernel =
        add_kernel(member, found->name, found->has_arguments ? found->argument_count : 0);

    if (!kernel)
        return no_memory();
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        kernel->params[i].offset = found->arguments[i].offset;
        kernel->params[i].size = found->arguments[i].size;
        memcpy(kernel->params[i].kind, found->arguments[i].value_kind,
               sizeof(kernel->params[i].kind));
    }
    kernel->has_params = found->has_arguments;
    kernel->registers = or_unknown(found->vector_registers);
    kernel->scalar_registers = or_unknown(found->scalar_registers);
    kernel->shared = found->group_size;
    kernel->local = found->private_size;
    kernel->max_threads = or_unknown(found->max_threads);
    if (found->block[0])
        memcpy(kernel->block, found->block, sizeof(kernel->block));
    return 0;
}

/* 1: it is one, and was read. */
static int read_hsa(struct tsm_code *code, const uint8_t *data, size_t size)
{
    struct tsm_code_member member = {.size = size};
    struct hsa_code_kernels kernels;
    struct hsa_code hsa;
    int error;

    if (!hsa_code_open(&hsa, data, size))
        return 0;
    code->kind = member.kind = hsa.is_amdgpu ? TSM_CODE_AMD : TSM_CODE_X86;
    if (!hsa_code_kernels_init(&kernels, &hsa))
        return no_memory();
    tsm_format(member.target, sizeof(member.target), "%s",
               hsa.is_amdgpu ? kernels.target : "x86_64");
    error = add_member(code, &member);
    for (size_t i = 0; i < kernels.count && !error; i++)
        error = add_hsa_kernel(&code->members[0], &kernels.all[i]);
    hsa_code_kernels_finish(&kernels);
    return error ? error : 1;
}
#else
static int read_hsa(struct tsm_code *code, const uint8_t *data, size_t size)
{
    (void)code, (void)data, (void)size;
    return 0;
}
#endif

/* ---- the list ---------------------------------------------------------------------------------
 */

int tsm_code_read(uint8_t **out, const struct tsm_code_list *list, const struct tsm_code *code)
{
    return tsm_code_object_read(out, tsm_code_object_at(&list->objects, code->object),
                                list->reader);
}

/* Members that are being visited. */
struct member_visit {
    const struct tsm_code *code;
    size_t index;
    int (*visit)(void *user, const struct tsm_code_member *member, const uint8_t *bytes,
                 size_t size);
    void *user;
    int error;
};

static void visit_cuda(void *context, const struct cuda_member *found)
{
    struct member_visit *v = context;

    if (!v->error && v->index < v->code->member_count)
        v->error = v->visit(v->user, &v->code->members[v->index], found->data, found->size);
    v->index++;
}

int tsm_code_each_member(const struct tsm_code *code, const uint8_t *data,
                         int (*visit)(void *user, const struct tsm_code_member *member,
                                      const uint8_t *bytes, size_t size),
                         void *user)
{
    struct member_visit v = {.code = code, .visit = visit, .user = user};

    if (code->kind == TSM_CODE_AMD || code->kind == TSM_CODE_X86)
        return visit(user, &code->members[0], data, (size_t)code->size);
    cuda_image_members(data, code->size, visit_cuda, &v);
    return v.error;
}

static int read_code(struct tsm_code_list *list, struct tsm_code *code)
{
    const size_t size = (size_t)code->size;
    struct sbt_key key;
    uint8_t *data;
    int error = tsm_code_read(&data, list, code);

    if (error == TSM_E_NOT_FOUND) {
        code->kind = TSM_CODE_MISSING;
        return 0;
    }
    if (error < 0)
        return error;
    key = tsm_hash_key(data, size);
    tsm_key_text(code->hash, &key);
    error = read_hsa(code, data, size);
    if (error == 0)
        error = read_cuda(code, data, size);
    free(data);
    return error < 0 ? error : 0;
}

static int add_code(struct tsm_code_list *list, size_t index)
{
    struct tsm_code_object *object = tsm_code_object_at(&list->objects, index);
    const struct sbt_schema *schema = sbt_reader_schema(list->reader, object->record_type);
    const size_t bytes =
        object->blob.bytes ? (size_t)object->blob.size : (size_t)object->blob.piece_count * 16;
    struct tsm_code code = {.call = schema ? schema->name : "",
                            .type = object->type,
                            .id = object->id,
                            .seq = object->seq,
                            .size = object->blob.size,
                            .object = index};
    bool added;
    uint64_t *place;

    place = tsm_map_insert(&list->places, tsm_hash64(object->blob_keys, bytes) ^ object->blob.size,
                           &added);
    if (!place)
        return no_memory();
    if (added) {
        int error;
        if (!TSM_ARRAY_PUSH(list->list, list->count, list->capacity, code))
            return no_memory();
        *place = list->count;
        error = read_code(list, &list->list[list->count - 1]);
        if (error)
            return error;
    }
    list->list[*place - 1].count++;
    object->user = (void *)(uintptr_t)*place; /* NOLINT: a number */
    return 0;
}

/* A function whose launches are being added to kernels of its code. */
struct launches {
    struct tsm_code_list *list;
    const struct tsm_code_object *function;
    const char *name;
};

static bool add_launches(void *user, struct tsm_code_object *object)
{
    const struct launches *l = user;
    const size_t place = (size_t)(uintptr_t)object->user;
    const struct tsm_code *code = place ? &l->list->list[place - 1] : NULL;
    bool is_there = false;

    for (size_t i = 0; code && i < code->member_count; i++) {
        struct tsm_code_kernel *kernel = find_kernel(&code->members[i], l->name);
        if (!kernel)
            continue;
        if (!kernel->launch_count && !kernel->node_count)
            kernel->first_seq = l->function->launch_seq - 1;
        else if (l->function->launch_seq - 1 < kernel->first_seq)
            kernel->first_seq = l->function->launch_seq - 1;
        kernel->launch_count += l->function->launch_count;
        kernel->node_count += l->function->node_count;
        is_there = true;
    }
    return is_there;
}

static void count_launches(struct tsm_code_list *list)
{
    for (size_t i = 0; i < tsm_code_objects_count(&list->objects); i++) {
        const struct tsm_code_object *function = tsm_code_object_at(&list->objects, i);
        struct launches l = {list, function, NULL};

        if (!function->launch_seq)
            continue;
        l.name = sbt_reader_string(list->reader,
                                   function->name ? function->name : function->launch_name);
        if (l.name)
            tsm_code_objects_search(&list->objects, i, add_launches, &l);
    }
}

static void note_launch(struct tsm_code_list *list, const struct sbt_record *record)
{
    const uint64_t index = tsm_code_objects_launched(&list->objects, list->reader, record);
    const struct sbt_schema *schema = sbt_reader_schema(list->reader, record->type);
    struct tsm_code_object *function;

    if (index == UINT64_MAX || (record->flags & SBT_RECORD_FAILED))
        return;
    function = tsm_code_object_at(&list->objects, index);
    if (schema->kind == SBT_KIND_COMMAND && !(record->flags & SBT_RECORD_CAPTURED))
        function->launch_count++;
    else
        function->node_count++;
    if (!function->launch_seq)
        function->launch_seq = record->seq + 1;
    if (!function->launch_name)
        function->launch_name =
            (uint32_t)sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
}

static int read_records(struct tsm_code_list *list)
{
    const uint64_t total = sbt_reader_totals(list->reader)->record_count;
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = sbt_cursor_create(&cursor, list->reader, NULL, 1), more = 0;

    while (!error && (more = sbt_cursor_next(cursor, &record)) == 1) {
        error = tsm_code_objects_note(&list->objects, list->reader, record);
        note_launch(list, record);
        if (record->seq % 4096 == 0)
            tsm_progress("reading", record->seq, total);
    }
    sbt_cursor_destroy(cursor);
    tsm_progress_end();
    return error ? error : more;
}

static int by_seq(const void *a, const void *b)
{
    const struct tsm_code *x = a, *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

int tsm_code_list_init(struct tsm_code_list *list, struct sbt_reader *reader)
{
    int error;

    *list = (struct tsm_code_list){.reader = reader};
    error = read_records(list);
    for (size_t i = 0; i < tsm_code_objects_count(&list->objects) && !error; i++)
        if (tsm_code_object_at(&list->objects, i)->blob.size)
            error = add_code(list, i);
    if (error)
        return error;
    count_launches(list);
    if (list->count)
        qsort(list->list, list->count, sizeof(*list->list), by_seq);
    return 0;
}

static void finish_member(struct tsm_code_member *member)
{
    for (size_t i = 0; i < member->count; i++)
        forget_kernel(&member->kernels[i]);
    free(member->kernels);
    tsm_map_finish(&member->by_name);
}

void tsm_code_list_finish(struct tsm_code_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->list[i].member_count; k++)
            finish_member(&list->list[i].members[k]);
        free(list->list[i].members);
    }
    free(list->list);
    tsm_map_finish(&list->places);
    tsm_code_objects_finish(&list->objects);
    *list = (struct tsm_code_list){0};
}
