/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_each TRACE [COUNT [SEED [FIRST [OTHER]]]]: no change of what tsdiff compares may leave it at
 * "same". Writes the trace again with one thing changed: a slot, a byte, a flag, a result, a
 * stream; one record left out, written twice, or changed with its successor on the same stream. All
 * such changes, or COUNT of them at random. Records that make the trace doubtful are left out at
 * first, so that the unchanged trace is the same as itself. FIRST is added to the numbers of
 * streams. OTHER is what the changed ones are compared with: another trace of the same work.
 */
#include "tracesmith/analysis.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct copy {
    struct sbt_record record;
    const struct sbt_schema *schema;
    bool compared; /* by tsdiff */
};

static struct sbt_reader *reader;
static struct copy *copies;
static size_t copy_count;
static unsigned changed_count, same_count;
static uint32_t first_stream;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "diff_each: %s\n", tsm_error_message());
        exit(2);
    }
}

static void *duplicate(const void *bytes, size_t size)
{
    void *out = malloc(size + 1);

    if (!out)
        exit(2);
    if (size)
        memcpy(out, bytes, size);
    return out;
}

/* ---- the trace ---- */

static bool is_core(const struct sbt_record *record, enum sbt_core_record call)
{
    return record->type == SBT_TYPE(SBT_API_CORE, call);
}

static bool is_compared(const struct sbt_record *record, const struct sbt_schema *schema)
{
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return is_core(record, SBT_CORE_HOST_WRITE) || is_core(record, SBT_CORE_READBACK) ||
               is_core(record, SBT_CORE_CHECKSUM);
    return schema->kind != SBT_KIND_QUERY && schema->kind != SBT_KIND_SYNC &&
           schema->kind != SBT_KIND_META;
}

static bool is_doubtful(const struct sbt_record *record, const struct sbt_schema *schema)
{
    const uint32_t flags = SBT_RECORD_TAINTS | SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED;

    return !schema || (record->flags & flags) || (schema->flags & SBT_SCHEMA_TAINTS) ||
           is_core(record, SBT_CORE_STOPPED) || is_core(record, SBT_CORE_LOST);
}

static void move_stream(struct copy *c)
{
    int of_stream = sbt_schema_role(c->schema, SBT_ROLE_OF_STREAM);
    uint64_t *slots = duplicate(c->record.slots, 8 * c->record.slot_count);

    if (c->record.stream != SBT_STREAM_NONE)
        c->record.stream += first_stream;
    if (of_stream >= 0 && (uint32_t)of_stream < c->record.slot_count &&
        slots[of_stream] != SBT_STREAM_NONE)
        slots[of_stream] += first_stream;
    c->record.slots = slots;
}

static void load(const char *path)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor;
    int more;

    must(sbt_reader_open(&reader, path));
    must(sbt_cursor_create(&cursor, reader, NULL, 0));
    while ((more = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        if (!schema && SBT_TYPE_API(record->type) == SBT_API_CORE)
            schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
        if (is_doubtful(record, schema))
            continue;
        copies = realloc(copies, (copy_count + 1) * sizeof(*copies));
        struct copy *c = &copies[copy_count++];
        *c = (struct copy){*record, schema, is_compared(record, schema)};
        c->record.data = duplicate(record->data, record->data_size);
        move_stream(c);
    }
    must(more);
    sbt_cursor_destroy(cursor);
}

static void write_tables(struct sbt_writer *w)
{
    const char *name, *value;

    for (size_t i = 0; i < sbt_reader_metadata_count(reader); i++) {
        sbt_reader_metadata(reader, i, &name, &value);
        must(sbt_writer_metadata(w, name, value));
    }
    for (size_t i = 0; i < sbt_reader_schema_count(reader); i++)
        must(sbt_writer_schema(w, sbt_reader_schema_at(reader, i)));
    for (size_t i = 0; i < sbt_reader_struct_count(reader); i++)
        must(sbt_writer_struct(w, sbt_reader_struct_at(reader, i)));
}

static void write_parts(struct sbt_writer *w, const struct copy *c)
{
    struct sbt_blob blob;
    const uint8_t *data;
    uint8_t piece[SBT_PIECE_SIZE];
    size_t size;

    for (uint32_t i = 0; i < c->schema->field_count && i < c->record.slot_count; i++) {
        uint64_t slot = c->record.slots[i];
        const char *text = c->schema->fields[i].type == SBT_FIELD_STRING && slot
                               ? sbt_reader_string(reader, (uint32_t)slot)
                               : NULL;
        if (text)
            must(sbt_writer_string(w, (uint32_t)slot, text, strlen(text)));
        if (c->schema->fields[i].type != SBT_FIELD_STRUCT ||
            sbt_record_struct(&c->record, i, &data, &size, &blob) != 2)
            continue;
        for (uint64_t k = 0; k < blob.piece_count; k++) {
            struct sbt_key key = sbt_blob_key(&blob, k);
            int got = sbt_reader_piece(reader, &key, piece);
            if (got > 0)
                must(sbt_writer_piece(w, &key, piece, (size_t)got));
        }
    }
}

/* Writes the records named by `order` into memory and opens that. NULL: the writer refuses one. */
static struct sbt_reader *make(const struct copy *const *order, size_t count)
{
    int fd = memfd_create("diff_each", MFD_CLOEXEC);
    const struct sbt_totals totals = {0};
    struct sbt_reader *out;
    struct sbt_writer *w;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", dup(fd));
    must(sbt_writer_create_fd(&w, fd, sbt_reader_session(reader), NULL));
    write_tables(w);
    for (size_t i = 0; i < count; i++) {
        struct sbt_record record = order[i]->record;
        record.seq = i;
        record.stack = 0;
        write_parts(w, order[i]);
        if (sbt_writer_record(w, &record) < 0) {
            sbt_writer_destroy(w);
            close(atoi(strrchr(path, '/') + 1));
            return NULL;
        }
    }
    must(sbt_writer_finish(w, &totals, SBT_END_FINISHED));
    sbt_writer_destroy(w);
    must(sbt_reader_open(&out, path));
    close(atoi(strrchr(path, '/') + 1));
    return out;
}

/* ---- one change ---- */

static struct sbt_reader *original;
static const struct copy **order; /* room for one more than there are */

static void order_all(void)
{
    for (size_t i = 0; i < copy_count; i++)
        order[i] = &copies[i];
}

static enum tsm_verdict compare(size_t count)
{
    struct sbt_reader *changed = make(order, count);
    struct tsm_diff_result there, back;

    changed_count++;
    if (!changed)
        return TSM_DIFFERENT;
    must(tsm_diff(&there, original, changed, NULL));
    must(tsm_diff(&back, changed, original, NULL));
    sbt_reader_destroy(changed);
    return there.verdict == TSM_SAME || back.verdict == TSM_SAME ? TSM_SAME : TSM_DIFFERENT;
}

static void check_change(size_t count, const struct copy *c, const char *what, const char *field)
{
    if (compare(count) != TSM_SAME)
        return;
    same_count++;
    printf("still the same: record %llu, %s: %s %s\n", (unsigned long long)c->record.seq,
           c->schema->name, what, field);
}

static void try_record(size_t at, const struct copy *changed, const char *what, const char *field)
{
    order_all();
    order[at] = changed;
    check_change(copy_count, &copies[at], what, field);
}

static void try_slot(size_t at, uint32_t slot, uint64_t value)
{
    struct copy c = copies[at];
    uint64_t *slots = duplicate(c.record.slots, 8 * c.record.slot_count);

    slots[slot] = value;
    c.record.slots = slots;
    try_record(at, &c, "slot", c.schema->fields[slot].name);
    free(slots);
}

static void try_byte(size_t at, uint32_t slot, size_t byte)
{
    struct copy c = copies[at];
    uint8_t *data = duplicate(c.record.data, c.record.data_size);

    data[(c.record.slots[slot] >> 32) + byte] ^= 0x20;
    c.record.data = data;
    try_record(at, &c, "byte of", c.schema->fields[slot].name);
    free(data);
}

/* ---- structured values ---- */

static bool is_free(const struct sbt_step *step)
{
    enum sbt_field_type type = step->member ? step->member->type : SBT_FIELD_BYTES;

    return type == SBT_FIELD_HOSTPTR || type == SBT_FIELD_HANDLE || type == SBT_FIELD_DEVPTR;
}

static bool steps_differ(const struct sbt_step *a, const struct sbt_step *b)
{
    if (a->kind != b->kind || a->none != b->none || a->member != b->member || a->size != b->size)
        return true;
    if (a->size && memcmp(a->data, b->data, a->size))
        return true;
    return a->number != b->number && !is_free(a);
}

/* Do two inline values say other things? Addresses and ids may map one to one. */
static bool values_differ(const struct sbt_record *a, const struct sbt_record *b, uint32_t slot,
                          const char *name)
{
    const struct sbt_record *records[2] = {a, b};
    struct sbt_walk walks[2];
    struct sbt_step steps[2];
    int got[2];

    for (int i = 0; i < 2; i++) {
        struct sbt_blob blob;
        const uint8_t *data;
        size_t size;
        if (sbt_record_struct(records[i], slot, &data, &size, &blob) != 1 ||
            sbt_walk_begin(&walks[i], reader, name, data, size) < 0)
            return i == 1;
    }
    do {
        for (int i = 0; i < 2; i++)
            got[i] = sbt_walk_next(&walks[i], &steps[i]);
        if (got[0] != got[1] || (got[0] == 1 && steps_differ(&steps[0], &steps[1])))
            return true;
    } while (got[0] == 1);
    return false;
}

static void change_value(size_t at, uint32_t slot)
{
    struct copy c = copies[at];
    size_t size = (uint32_t)c.record.slots[slot];

    for (size_t i = 0; i < 8 && size; i++) {
        uint8_t *data = duplicate(c.record.data, c.record.data_size);
        data[(c.record.slots[slot] >> 32) + (size_t)rand() % size] ^= (uint8_t)(1 << rand() % 8);
        struct copy changed = c;
        changed.record.data = data;
        if (values_differ(&c.record, &changed.record, slot, c.schema->fields[slot].detail))
            try_record(at, &changed, "value of", c.schema->fields[slot].name);
        free(data);
    }
}

/* ---- which changes ---- */

/* Another object of the same type, which other records name: two must not stand for one. 0: none.
 */
static uint64_t other_handle(size_t at, uint32_t slot)
{
    const char *detail = copies[at].schema->fields[slot].detail;
    uint64_t value = copies[at].record.slots[slot];

    for (size_t i = 0; i < copy_count; i++) {
        const struct copy *c = &copies[i];
        for (uint32_t k = 0; c->compared && k < c->schema->field_count && k < c->record.slot_count;
             k++)
            if (i != at && c->schema->fields[k].type == SBT_FIELD_HANDLE &&
                !(c->record.flags & SBT_RECORD_FAILED) &&
                !strcmp(c->schema->fields[k].detail, detail) && c->record.slots[k] &&
                c->record.slots[k] != value)
                return c->record.slots[k];
    }
    return 0;
}

/* Tests whether a byte is of an object's id in a list: objects may have other numbers. */
static bool is_id(const struct sbt_field *field, size_t byte)
{
    const char *slash = strchr(field->detail, '/');

    return slash && byte % strtoul(slash + 1, NULL, 10) < 4;
}

static void change_bytes(size_t at, uint32_t slot, size_t count)
{
    size_t size = (uint32_t)copies[at].record.slots[slot];
    const struct sbt_field *field = &copies[at].schema->fields[slot];
    const size_t first = field->type == SBT_FIELD_BLOB ? 8 : 0;

    for (size_t i = 0; i < count && first < size; i++) {
        const size_t byte = (size_t)rand() % (size - first);
        if (!is_id(field, byte))
            try_byte(at, slot, first + byte);
    }
}

static void change_slot(size_t at, uint32_t slot)
{
    const struct copy *c = &copies[at];
    const struct sbt_field *field = &c->schema->fields[slot];
    uint64_t value = c->record.slots[slot], other;
    bool failed = c->record.flags & SBT_RECORD_FAILED;

    switch (field->type) {
    case SBT_FIELD_STRING:
        break;
    case SBT_FIELD_BYTES:
    case SBT_FIELD_BLOB:
        change_bytes(at, slot, 3);
        break;
    case SBT_FIELD_STRUCT:
        change_value(at, slot);
        break;
    case SBT_FIELD_HANDLE:
        other = failed ? 0 : other_handle(at, slot);
        if (other)
            try_slot(at, slot, other);
        break;
    case SBT_FIELD_HOSTPTR:
        if (is_core(&c->record, SBT_CORE_HOST_WRITE))
            try_slot(at, slot, value + 8);
        break;
    case SBT_FIELD_DEVPTR: /* memory may lie elsewhere when all of it does */
        if (field->role != SBT_ROLE_ADDRESS && !failed)
            try_slot(at, slot, value + 4);
        break;
    default:
        try_slot(at, slot, value ^ 1);
        try_slot(at, slot, value ^ (1ull << 63));
    }
}

static void change_head(size_t at)
{
    struct copy c = copies[at];

    c.record.result ^= 1;
    try_record(at, &c, "result", "");
    c = copies[at];
    c.record.flags ^= SBT_RECORD_FAILED;
    try_record(at, &c, "flag", "failed");
    if (SBT_TYPE_API(c.record.type) == SBT_API_CORE || c.record.stream == SBT_STREAM_NONE)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        c = copies[at];
        c.record.stream = (const uint32_t[]){80000, c.record.stream + 1, SBT_STREAM_NONE}[i];
        try_record(at, &c, "stream", "");
    }
}

static bool are_equal(const struct sbt_record *a, const struct sbt_record *b)
{
    return a->type == b->type && a->flags == b->flags && a->result == b->result &&
           a->slot_count == b->slot_count && a->data_size == b->data_size &&
           !memcmp(a->slots, b->slots, 8 * a->slot_count) &&
           !memcmp(a->data, b->data, a->data_size);
}

/* The thread that sent the command that a core record speaks of; 0: it is of none. */
static uint32_t sender_of(const struct copy *c)
{
    const uint64_t stream =
        sbt_record_role(c->schema, &c->record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t position = sbt_record_role(c->schema, &c->record, SBT_ROLE_OF_POSITION, 0);

    for (size_t i = 0; i < copy_count && stream != SBT_STREAM_NONE; i++)
        if (copies[i].record.stream == stream && copies[i].record.position == position)
            return copies[i].record.thread;
    return 0;
}

/* Must the two stay in this order? */
static bool are_ordered(const struct copy *a, const struct copy *b)
{
    bool core = SBT_TYPE_API(a->record.type) == SBT_API_CORE;

    return a->compared && b->compared && a->record.stream == b->record.stream &&
           core == (SBT_TYPE_API(b->record.type) == SBT_API_CORE) &&
           (core ? a->record.type == b->record.type && a->record.slots[0] == b->record.slots[0] &&
                       sender_of(a) == sender_of(b)
                 : a->record.thread == b->record.thread) &&
           !are_equal(&a->record, &b->record);
}

static void change_order(size_t at)
{
    order_all();
    memmove(order + at, order + at + 1, (copy_count - at - 1) * sizeof(*order));
    check_change(copy_count - 1, &copies[at], "left out", "");
    order_all();
    memmove(order + at + 1, order + at, (copy_count - at) * sizeof(*order));
    check_change(copy_count + 1, &copies[at], "twice", "");
    if (at + 1 == copy_count || !are_ordered(&copies[at], &copies[at + 1]))
        return;
    order_all();
    order[at] = &copies[at + 1];
    order[at + 1] = &copies[at];
    check_change(copy_count, &copies[at], "exchanged with the next", "");
}

static void change_record(size_t at)
{
    if (!copies[at].compared)
        return;
    change_head(at);
    change_order(at);
    for (uint32_t i = 0; i < copies[at].schema->field_count && i < copies[at].record.slot_count;
         i++)
        change_slot(at, i);
}

int main(int argc, char **argv)
{
    bool is_same;
    struct tsm_diff_result result;
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

    if (argc < 2)
        return 2;
    srand(argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 1);
    first_stream = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 0) : 0;
    load(argv[1]);
    order = malloc((copy_count + 2) * sizeof(*order));
    order_all();
    if (argc > 5)
        must(sbt_reader_open(&original, argv[5]));
    else
        original = make(order, copy_count);
    must(tsm_diff(&result, original, original, NULL));
    /* Samples for the format have places at random. */
    is_same = result.verdict == TSM_SAME || strstr(result.why, "places on it have no record");
    if (!is_same)
        printf("not the same as itself: %s\n", result.why);
    for (size_t i = 0; !count && i < copy_count; i++)
        change_record(i);
    while (copy_count && changed_count < count)
        change_record((size_t)rand() % copy_count);
    printf("%u changes, %u of them unseen\n", changed_count, same_count);
    sbt_reader_destroy(original);
    sbt_reader_destroy(reader);
    return !is_same || same_count;
}
