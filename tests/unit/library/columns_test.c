/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and texts of stacks say what cursors say, of sound traces and of an enemy's: columns_test
 * FOLDER... with files that may be traces.
 */
#include "tests/unit/check.h"
#include "tracesmith/columns.h"
#include "tracesmith/symbols.h"
#include "tracesmith/writer.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDS_MAX 20000u /* of a file: some unpack to millions */
#define STACKS_MAX  4u

static unsigned open_count, command_count, edge_count, frame_count, kernel_count;

static void check_record(const struct tsm_records *t, size_t i, const struct sbt_record *r)
{
    CHECK_EQ_INT(t->seq[i], r->seq);
    CHECK_EQ_INT(t->time_ns[i], r->time_ns);
    CHECK_EQ_INT(t->duration_ns[i], r->duration_ns);
    CHECK_EQ_INT(t->type[i], r->type);
    CHECK_EQ_INT(t->thread[i], r->thread);
    CHECK_EQ_INT(t->stream[i], r->stream);
    CHECK_EQ_INT(t->stack[i], r->stack);
    CHECK_EQ_INT(t->position[i], r->position);
    CHECK_EQ_INT(t->result[i], r->result);
    CHECK_EQ_INT(t->flags[i], r->flags);
}

static void check_records(struct sbt_reader *reader, const struct sbt_filter *filter)
{
    struct tsm_records *table = NULL;
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    const int error = tsm_records_read(&table, reader, filter);
    size_t count = 0;
    int more = sbt_cursor_create(&cursor, reader, filter, 0);

    CHECK((error < 0) == (table == NULL));
    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) == 1) {
        if (table && count < table->count && count < RECORDS_MAX)
            check_record(table, count, record);
        count++;
    }
    CHECK(more < 0 ? error < 0 : error == 0 && table->count == count);
    sbt_cursor_destroy(cursor);
    tsm_records_destroy(table);
}

/* Compares a command with its record. */
static void check_command(struct sbt_cursor *cursor, struct sbt_reader *reader,
                          const struct tsm_commands *t, size_t i)
{
    const struct sbt_record *record;
    const char *kernel;

    CHECK(i == 0 || t->seq[i - 1] < t->seq[i] ||
          (t->seq[i - 1] == t->seq[i] && t->part[i - 1] <= t->part[i]));
    CHECK(t->kernel[i] < t->name_count);
    CHECK(tsm_work_name((enum tsm_work)t->work[i]) != NULL);
    CHECK(t->time_kind[i] != TSM_TIME_UNKNOWN || (t->start_ns[i] == 0 && t->end_ns[i] == 0));
    CHECK(t->end_ns[i] >= t->start_ns[i]);
    if (sbt_cursor_seek(cursor, t->seq[i]) < 0 || sbt_cursor_next(cursor, &record) != 1)
        return;
    CHECK_EQ_INT(t->seq[i], record->seq);
    CHECK_EQ_INT(t->stream[i], record->stream);
    CHECK_EQ_INT(t->type[i], record->type);
    kernel = tsm_record_kernel(reader, record);
    if (t->work[i] == TSM_WORK_KERNEL)
        CHECK_EQ_STR(t->names[t->kernel[i]], kernel ? kernel : "");
    kernel_count += kernel != NULL;
}

static void check_commands(struct sbt_reader *reader)
{
    struct tsm_commands *table = NULL;
    struct sbt_cursor *cursor = NULL;

    if (tsm_commands_read(&table, reader, NULL) < 0) {
        CHECK(!table && *tsm_error_message());
        return;
    }
    CHECK_EQ_STR(table->names[0], "");
    if (sbt_cursor_create(&cursor, reader, NULL, 0) == 0)
        for (size_t i = 0; i < table->count && i < RECORDS_MAX / 16; i++)
            check_command(cursor, reader, table, i);
    command_count += (unsigned)table->count;
    sbt_cursor_destroy(cursor);
    tsm_commands_destroy(table);
}

static void check_edges(struct sbt_reader *reader, bool has_memory)
{
    struct tsm_edges *table = NULL;

    if (tsm_edges_read(&table, reader, has_memory) < 0) {
        CHECK(!table && *tsm_error_message());
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        CHECK(i == 0 || table->to[i - 1] <= table->to[i]);
        CHECK(tsm_dependency_reason_name((enum tsm_dependency_reason)table->reason[i]) != NULL);
        CHECK(table->is_redundant[i] <= 1 && table->is_unordered[i] <= 1);
    }
    edge_count += (unsigned)table->count;
    tsm_edges_destroy(table);
}

/* A text that is cut is the beginning of the whole one, with a NUL, and nothing behind it. */
static void check_cut(struct tsm_symbols *symbols, uint32_t stack, const char *whole, size_t length)
{
    for (size_t size = 0; size <= length + 1; size += size < 3 ? 1 : 37) {
        char *out = malloc(size + 1);
        const size_t kept = size == 0 ? 0 : size - 1 < length ? size - 1 : length;

        if (!CHECK(out))
            return;
        memset(out, 'x', size + 1);
        CHECK_EQ_INT(tsm_symbols_stack(symbols, stack, out, size), length);
        CHECK_EQ_MEM(out, whole, kept);
        CHECK(size == 0 || out[kept] == '\0');
        CHECK(out[size] == 'x');
        free(out);
    }
}

static void check_stack(struct tsm_symbols *symbols, struct sbt_reader *reader, uint32_t stack)
{
    const uint64_t *frames;
    const int count = stack ? sbt_reader_stack(reader, stack, &frames) : 0;
    const int64_t length = tsm_symbols_stack(symbols, stack, NULL, 0);
    char *whole = malloc((size_t)(length > 0 ? length : 0) + 1);
    int lines = 0;

    if (!CHECK(whole))
        return;
    CHECK(count < 0 ? length < 0 : length >= 0);
    if (length >= 0) {
        tsm_symbols_stack(symbols, stack, whole, (size_t)length + 1);
        for (const char *at = whole; *at; at++)
            lines += *at == '\n';
        CHECK_EQ_INT(lines, count);
        check_cut(symbols, stack, whole, (size_t)length);
        frame_count += (unsigned)lines;
    }
    free(whole);
}

static void check_stacks(struct sbt_reader *reader)
{
    struct tsm_symbols *symbols = NULL;

    if (tsm_symbols_create(&symbols, reader) < 0)
        return;
    for (uint32_t stack = 0; stack < STACKS_MAX; stack++)
        check_stack(symbols, reader, stack);
    check_stack(symbols, reader, UINT32_MAX);
    tsm_symbols_destroy(symbols);
}

static void check_file(const char *path)
{
    static const uint32_t streams[] = {1, SBT_STREAM_NONE};
    const struct sbt_filter some = {.streams = streams, .stream_count = 2, .seq_end = 100};
    const struct sbt_filter none = {.streams = streams};
    struct sbt_reader *reader = NULL;

    if (sbt_reader_open(&reader, path) < 0)
        return;
    open_count++;
    check_records(reader, NULL);
    check_records(reader, &some);
    check_records(reader, &none);
    check_commands(reader);
    check_edges(reader, false);
    check_edges(reader, true);
    check_stacks(reader);
    sbt_reader_destroy(reader);
}

static void check_folder(const char *folder)
{
    DIR *files = opendir(folder);
    struct dirent *file;
    char path[4096];

    if (!CHECK(files))
        return;
    while ((file = readdir(files)))
        if (file->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/%s", folder, file->d_name) < (int)sizeof(path))
            check_file(path);
    closedir(files);
}

/* ---- a trace of which all is known --------------------------------------------------------- */

#define LAUNCH SBT_TYPE(100, 1)

static const struct sbt_field fields[] = {
    {"function", SBT_FIELD_HANDLE, SBT_ROLE_FUNCTION, "function"},
    {"name", SBT_FIELD_STRING, SBT_ROLE_FUNCTION_NAME, ""},
};
static const struct sbt_schema launch = {.type = LAUNCH,
                                         .name = "launch",
                                         .kind = SBT_KIND_COMMAND,
                                         .result_enum = "",
                                         .field_count = 2,
                                         .fields = fields};

/* Launches kernels "a", "b", "a"; then times of the third and the first. */
static void write_trace(struct sbt_writer *w)
{
    static const uint64_t names[] = {1, 2, 1};
    static const uint64_t times[][13] = {
        {0, 3, 0, 500, 50, SBT_GPU_TIME_CALIBRATED, 7, 0},
        {0, 1, 0, 100, 20, SBT_GPU_TIME_VIRTUAL, 0, 0},
    };

    CHECK(sbt_writer_metadata(w, "process.name", "test") == 0);
    CHECK(sbt_writer_schema(w, &launch) == 0);
    CHECK(sbt_writer_schema(w, sbt_core_schema(SBT_CORE_GPU_TIME)) == 0);
    CHECK(sbt_writer_string(w, 1, "a", 1) == 0 && sbt_writer_string(w, 2, "b", 1) == 0);
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t slots[] = {9, names[i]};
        const struct sbt_record record = {.seq = i,
                                          .time_ns = 10 * i,
                                          .type = LAUNCH,
                                          .position = i + 1,
                                          .slot_count = 2,
                                          .slots = slots};
        CHECK(sbt_writer_record(w, &record) == 0);
    }
    for (uint64_t i = 0; i < 2; i++) {
        const struct sbt_record record = {.seq = 3 + i,
                                          .time_ns = 1000,
                                          .type = SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME),
                                          .stream = SBT_STREAM_NONE,
                                          .slot_count = 13,
                                          .slots = times[i]};
        CHECK(sbt_writer_record(w, &record) == 0);
    }
}

static void check_known_commands(const struct tsm_commands *t)
{
    static const char *const kernels[] = {"a", "b", "a"};
    static const int64_t starts[] = {100, 0, 500}, ends[] = {120, 0, 550};
    static const uint32_t kinds[] = {TSM_TIME_MEASURED, TSM_TIME_UNKNOWN, TSM_TIME_MEASURED};

    if (!CHECK_EQ_INT(t->count, 3))
        return;
    CHECK_EQ_INT(t->name_count, 3);
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ_INT(t->seq[i], i);
        CHECK_EQ_STR(t->names[t->kernel[i]], kernels[i]);
        CHECK_EQ_INT(t->work[i], TSM_WORK_KERNEL);
        CHECK_EQ_INT(t->time_kind[i], kinds[i]);
        CHECK_EQ_INT(t->start_ns[i], starts[i]);
        CHECK_EQ_INT(t->end_ns[i], ends[i]);
    }
    CHECK_EQ_INT(t->time_axis[0], TSM_AXIS_VIRTUAL);
    CHECK_EQ_INT(t->time_axis[2], TSM_AXIS_HOST);
    CHECK_EQ_INT(t->error_ns[2], 7);
}

static void check_known(void)
{
    const struct sbt_session session = {.id = {1, [6] = 0x40, [8] = 0x80}, .clock = "monotonic"};
    const struct sbt_totals totals = {0};
    char path[] = "/tmp/ts-columns.XXXXXX";
    struct sbt_writer *w = NULL;
    struct sbt_reader *reader = NULL;
    struct tsm_commands *commands = NULL;

    if (!CHECK(sbt_writer_create_fd(&w, mkstemp(path), &session, NULL) == 0))
        return;
    write_trace(w);
    CHECK(sbt_writer_finish(w, &totals, SBT_END_FINISHED) == 0);
    sbt_writer_destroy(w);
    check_file(path);
    if (CHECK(sbt_reader_open(&reader, path) == 0) &&
        CHECK(tsm_commands_read(&commands, reader, NULL) == 0)) {
        sbt_reader_destroy(reader); /* the table needs it no more */
        reader = NULL;
        check_known_commands(commands);
    }
    tsm_commands_destroy(commands);
    sbt_reader_destroy(reader);
    unlink(path);
}

int main(int argc, char **argv)
{
    check_known();
    CHECK(!tsm_work_name(TSM_WORK_COUNT) && !tsm_work_name((enum tsm_work) - 1));
    CHECK(!tsm_dependency_reason_name(TSM_DEPENDS_COUNT));
    CHECK_EQ_STR(tsm_time_kind_name(TSM_TIME_MEASURED), "measured");
    tsm_records_destroy(NULL);
    tsm_commands_destroy(NULL);
    tsm_edges_destroy(NULL);
    tsm_symbols_destroy(NULL);
    for (int i = 1; i < argc; i++)
        check_folder(argv[i]);
    printf("%u traces, %u commands, %u kernels, %u edges, %u frames\n", open_count, command_count,
           kernel_count, edge_count, frame_count);
    CHECK(open_count && command_count && kernel_count && edge_count && frame_count);
    return check_result();
}
