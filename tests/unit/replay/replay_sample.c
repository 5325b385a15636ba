/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/replay/replay_sample.h"

#include <pthread.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"

#define TYPE(call) SBT_TYPE(SBT_API_CUDA, call)

/* ---- the API ------------------------------------------------------------------------------ */

#define FIELD(name_, type_, role_)                                                                 \
    {                                                                                              \
        .name = name_, .type = SBT_FIELD_##type_, .role = SBT_ROLE_##role_, .detail = ""           \
    }
#define EVENT_FIELDS                                                                               \
    {                                                                                              \
        .name = "event", .type = SBT_FIELD_HANDLE, .role = SBT_ROLE_OBJECT, .detail = "event"      \
    }

static const struct sbt_field make_stream[] = {FIELD("made", HANDLE, OBJECT),
                                               FIELD("number", UINT, STREAM_MADE)};
static const struct sbt_field allocate[] = {FIELD("address", DEVPTR, ADDRESS),
                                            FIELD("size", SIZE, SIZE)};
static const struct sbt_field release[] = {FIELD("address", DEVPTR, ADDRESS)};
static const struct sbt_field write_fields[] = {
    FIELD("dst", DEVPTR, DST), FIELD("size", SIZE, SIZE), FIELD("bytes", BLOB, PAYLOAD)};
static const struct sbt_field add[] = {FIELD("function", STRING, FUNCTION_NAME),
                                       FIELD("arguments", BYTES, ARGUMENTS)};
static const struct sbt_field read_fields[] = {FIELD("src", DEVPTR, SRC), FIELD("size", SIZE, SIZE),
                                               FIELD("to", HOSTPTR, HOST_DST)};
static const struct sbt_field event[] = {EVENT_FIELDS};

#define SCHEMA(call, kind_, flags_, fields_)                                                       \
    {                                                                                              \
        .type = TYPE(call), .name = #call, .kind = SBT_KIND_##kind_, .flags = flags_,              \
        .result_enum = "", .field_count = sizeof(fields_) / sizeof(fields_[0]), .fields = fields_  \
    }
#define SCHEMA_PLAIN(call, kind_, flags_)                                                          \
    {                                                                                              \
        .type = TYPE(call), .name = #call, .kind = SBT_KIND_##kind_, .flags = flags_,              \
        .result_enum = ""                                                                          \
    }

static const struct sbt_schema schemas[SAMPLE_CALL_COUNT] = {
    SCHEMA(MAKE_STREAM, CREATE, 0, make_stream),
    SCHEMA(ALLOCATE, CREATE, 0, allocate),
    SCHEMA(FREE, DESTROY, 0, release),
    SCHEMA(WRITE, COMMAND, 0, write_fields),
    SCHEMA(ADD, COMMAND, 0, add),
    SCHEMA(READ, COMMAND, 0, read_fields),
    SCHEMA(READ_NOW, COMMAND, SBT_SCHEMA_BLOCKS, read_fields),
    SCHEMA(SIGNAL, SIGNAL, 0, event),
    SCHEMA(WAIT, WAIT, 0, event),
    SCHEMA_PLAIN(SYNC_STREAM, SYNC, 0),
    SCHEMA_PLAIN(SYNC_DEVICE, SYNC, 0),
    SCHEMA(SYNC_EVENT, SYNC, 0, event),
    SCHEMA_PLAIN(ODD, OTHER, SBT_SCHEMA_TAINTS),
    SCHEMA_PLAIN(HANG, COMMAND, 0),
};

static struct tsm_call_description calls[SAMPLE_CALL_COUNT];
static struct tsm_api_description description = {
    .api = SBT_API_CUDA, .name = "sample", .calls = calls, .call_count = SAMPLE_CALL_COUNT};

__attribute__((constructor)) static void describe_calls(void)
{
    for (size_t i = 0; i < SAMPLE_CALL_COUNT; i++)
        calls[i] = (struct tsm_call_description){
            &schemas[i], i + 1 == ODD ? TSM_CALL_UNMODELLED : TSM_CALL_HOOKED, "sample"};
}

/* ---- traces ------------------------------------------------------------------------------- */

static void must(int error)
{
    if (error < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        exit(1);
    }
}

void sample_begin(struct sample *s, const char *name)
{
    static const struct sbt_session session = {.id = {1}, .clock = "monotonic"};

    memset(s, 0, sizeof(*s));
    s->thread = 1;
    snprintf(s->path, sizeof(s->path), "/tmp/replay_%d_%s.sbt", (int)getpid(), name);
    unlink(s->path);
    must(sbt_writer_create(&s->w, s->path, &session, NULL));
    must(sbt_writer_metadata(s->w, "process.pid", "1"));
    for (size_t i = 0; i < SAMPLE_CALL_COUNT; i++)
        must(sbt_writer_schema(s->w, &schemas[i]));
    must(sbt_writer_schema(s->w, sbt_core_schema(SBT_CORE_READBACK)));
    must(sbt_writer_string(s->w, 1, "add_one", 7));
    must(sbt_writer_string(s->w, 2, "add_two", 7));
}

void sample_end(struct sample *s)
{
    struct sbt_totals totals = {.lost_count = s->lost};

    must(s->cut ? sbt_writer_flush(s->w) : sbt_writer_finish(s->w, &totals, SBT_END_FINISHED));
    sbt_writer_destroy(s->w);
    s->w = NULL;
}

struct sbt_reader *sample_open(const struct sample *s)
{
    struct sbt_reader *reader = NULL;

    must(sbt_reader_open(&reader, s->path));
    unlink(s->path);
    return reader;
}

void sample_at(struct sample *s, uint32_t stream, uint64_t position)
{
    s->position[stream] = position - 1;
}

static uint64_t put(struct sample *s, uint32_t type, uint32_t stream, const uint64_t *slots,
                    uint32_t slot_count, const void *data, size_t data_size)
{
    struct sbt_record r = {.seq = s->seq,
                           .time_ns = 1000 * s->seq + 1000,
                           .duration_ns = 10,
                           .type = type,
                           .thread = s->thread,
                           .stream = stream,
                           .flags = s->flags,
                           .slots = slots,
                           .slot_count = slot_count,
                           .data = data,
                           .data_size = data_size};

    if (stream != SBT_STREAM_NONE)
        r.position = ++s->position[stream];
    must(sbt_writer_record(s->w, &r));
    s->flags = 0;
    s->seq++;
    return r.seq;
}

uint64_t sample_call(struct sample *s, enum sample_call call, uint32_t stream, uint64_t a,
                     uint64_t b, uint64_t c)
{
    uint64_t slots[] = {a, b, c};

    return put(s, TYPE(call), stream, slots, schemas[call - 1].field_count, NULL, 0);
}

uint64_t sample_write(struct sample *s, uint32_t stream, uint64_t address, const void *bytes,
                      size_t size)
{
    uint8_t blob[SBT_BLOB_ENCODED_MAX(SAMPLE_MEMORY)];
    uint64_t slots[] = {address, size, SBT_BLOB_ENCODED_SIZE(size)};

    must(sbt_writer_blob(s->w, bytes, size, blob));
    return put(s, TYPE(WRITE), stream, slots, 3, blob, SBT_BLOB_ENCODED_SIZE(size));
}

uint64_t sample_add(struct sample *s, uint32_t stream, const char *function, uint64_t address,
                    uint64_t value)
{
    uint8_t arguments[16];
    uint64_t slots[] = {strcmp(function, "add_one") ? 2 : 1, sizeof(arguments)};

    tsm_put_u64(arguments, address);
    tsm_put_u64(arguments + 8, value);
    return put(s, TYPE(ADD), stream, slots, 2, arguments, sizeof(arguments));
}

uint64_t sample_readback(struct sample *s, uint32_t of_stream, uint64_t of_position,
                         const void *bytes, size_t size, bool key_only)
{
    uint8_t blob[SBT_BLOB_ENCODED_MAX(SAMPLE_MEMORY)];
    size_t encoded = key_only ? SBT_BLOB_KEYED_SIZE(size) : SBT_BLOB_ENCODED_SIZE(size);
    uint64_t slots[] = {of_stream, of_position, 0x7000, size, encoded};

    if (key_only) {
        struct sbt_key key = tsm_hash_key(bytes, size);
        tsm_put_u64(blob, size);
        memcpy(blob + 8, &key, sizeof(key));
    } else {
        must(sbt_writer_blob(s->w, bytes, size, blob));
    }
    return put(s, SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK), SBT_STREAM_NONE, slots, 5, blob,
               encoded);
}

/* ---- the backend -------------------------------------------------------------------------- */

#define READ_COUNT 64

struct tsm_backend_state {
    struct sbt_reader *reader;
    uint8_t memory[SAMPLE_MEMORY];
    struct tsm_region regions[16];
    size_t region_count;
    struct {
        uint32_t stream;
        uint64_t position, size;
        uint8_t bytes[256];
    } reads[READ_COUNT];
    unsigned read_count;
    bool hangs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[16384];
static uint32_t slow_stream = SBT_STREAM_NONE;
static enum sample_mistake made_mistake;
static pthread_t threads[32];
static unsigned thread_count;
static atomic_uint open_count;
static atomic_bool hangs_are_over;

unsigned sample_open_count(void)
{
    return open_count;
}

void sample_end_hangs(void)
{
    hangs_are_over = true;
}

void sample_slow(uint32_t stream)
{
    slow_stream = stream;
}

void sample_mistake(enum sample_mistake mistake)
{
    made_mistake = mistake;
}

const char *sample_log(void)
{
    return log_text;
}

void sample_log_clear(void)
{
    log_text[0] = '\0';
    thread_count = 0;
}

unsigned sample_thread_count(void)
{
    return thread_count;
}

/* The lock is held. */
static void note_thread(void)
{
    unsigned i = 0;

    while (i < thread_count && !pthread_equal(threads[i], pthread_self()))
        i++;
    if (i == thread_count && i < sizeof(threads) / sizeof(threads[0]))
        threads[thread_count++] = pthread_self();
}

static void note(const char *what, unsigned long long a)
{
    size_t used = strlen(log_text);

    snprintf(log_text + used, sizeof(log_text) - used, what, a);
}

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static int sample_backend_open(struct tsm_backend_state **out, struct sbt_reader *reader,
                               const struct tsm_replay_options *options)
{
    struct tsm_backend_state *state = calloc(1, sizeof(*state));

    open_count++;
    state->reader = reader;
    memset(state->memory, options->fresh_memory, sizeof(state->memory));
    *out = state;
    return 0;
}

static void sample_backend_close(struct tsm_backend_state *state)
{
    open_count--;
    free(state);
}

static int sample_backend_host(struct tsm_backend_state *state, const struct sbt_record *record,
                               const struct sbt_schema *schema)
{
    pthread_mutex_lock(&lock);
    note_thread();
    note("h ", 0);
    if (record->type == TYPE(ALLOCATE))
        state->regions[state->region_count++] = (struct tsm_region){
            record->slots[0], record->slots[0], record->slots[1], record->seq, false};
    if (record->type == TYPE(FREE))
        state->region_count--;
    pthread_mutex_unlock(&lock);
    return 0;
}

static uint8_t *at(struct tsm_backend_state *state, uint64_t address)
{
    return state->memory + (address - SAMPLE_BASE);
}

static int do_write(struct tsm_backend_state *state, const struct sbt_record *record)
{
    struct sbt_blob blob;

    if (!sbt_record_blob(record, 2, &blob))
        return tsm_fail(TSM_E_FORMAT, "bad blob");
    return sbt_reader_blob(state->reader, &blob, 0, at(state, record->slots[0]), blob.size);
}

static void do_add(struct tsm_backend_state *state, const struct sbt_record *record)
{
    const char *run = getenv("TS_EMU_SCHEDULE");
    const uint8_t *arguments;
    size_t size;

    sbt_record_bytes(record, 1, &arguments, &size);
    uint8_t *p = at(state, tsm_get_u64(arguments));
    uint8_t value = (uint8_t)tsm_get_u64(arguments + 8);
    if (made_mistake == MISTAKE_VARIES && run && strcmp(run, "fifo"))
        value++;
    if (made_mistake == MISTAKE_UNWRITTEN)
        value = (uint8_t)(value + p[-1]);
    for (int i = 0; i < 16; i++)
        p[i] = (uint8_t)(p[i] + value);
}

static void do_read(struct tsm_backend_state *state, const struct sbt_record *record)
{
    unsigned i = state->read_count++ % READ_COUNT;

    state->reads[i].stream = record->stream;
    state->reads[i].position = record->position;
    state->reads[i].size = record->slots[1];
    memcpy(state->reads[i].bytes, at(state, record->slots[0]), record->slots[1]);
}

static int sample_backend_submit(struct tsm_backend_state *state, const struct sbt_record *record,
                                 const struct sbt_schema *schema)
{
    int error = 0;

    if (record->stream == slow_stream)
        nap(20);
    pthread_mutex_lock(&lock);
    note_thread();
    note("%llu:", record->stream);
    note("%llu ", record->position);
    if (record->type == TYPE(WRITE))
        error = do_write(state, record);
    else if (record->type == TYPE(ADD))
        do_add(state, record);
    else if (record->type == TYPE(READ) || record->type == TYPE(READ_NOW))
        do_read(state, record);
    else if (record->type == TYPE(HANG))
        state->hangs = true;
    pthread_mutex_unlock(&lock);
    return error;
}

static int sample_backend_wait(struct tsm_backend_state *state, uint32_t stream)
{
    pthread_mutex_lock(&lock);
    note_thread();
    note(stream == SBT_STREAM_NONE ? "device " : "w%llu ", stream);
    bool hangs = state->hangs;
    pthread_mutex_unlock(&lock);
    while (hangs && !hangs_are_over)
        nap(20);
    return 0;
}

static int sample_backend_sync(struct tsm_backend_state *state, const struct sbt_record *record,
                               const struct sbt_schema *schema)
{
    pthread_mutex_lock(&lock);
    note("e%llu ", record->slots[0]);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int sample_backend_readback(struct tsm_backend_state *state, uint32_t stream,
                                   uint64_t position, uint64_t address, const uint8_t **data,
                                   uint64_t *size)
{
    for (unsigned i = 0; i < READ_COUNT; i++) {
        if (state->reads[i].stream == stream && state->reads[i].position == position) {
            *data = state->reads[i].bytes;
            *size = state->reads[i].size;
            return 0;
        }
    }
    return TSM_E_NOT_FOUND;
}

static int sample_backend_regions(struct tsm_backend_state *state,
                                  const struct tsm_region **regions, size_t *count)
{
    *regions = state->regions;
    *count = state->region_count;
    return 0;
}

static int sample_backend_read(struct tsm_backend_state *state, uint64_t address, void *out,
                               uint64_t size)
{
    memcpy(out, at(state, address), size);
    return 0;
}

static bool sample_backend_is_software(struct tsm_backend_state *state)
{
    return true;
}

static const struct tsm_backend_sync sync_table = {
    .sync = sample_backend_sync,
};

static struct tsm_backend sample_backend = {
    .description = &description,
    .open = sample_backend_open,
    .close = sample_backend_close,
    .host = sample_backend_host,
    .submit = sample_backend_submit,
    .wait = sample_backend_wait,
    .readback = sample_backend_readback,
    .regions = sample_backend_regions,
    .read = sample_backend_read,
    .is_software = sample_backend_is_software,
    .sync = &sync_table,
};

void sample_run_behind(bool behind)
{
    sample_backend.host_runs_behind = behind;
}

const struct tsm_backend *const tsm_backends[] = {&sample_backend, NULL};
