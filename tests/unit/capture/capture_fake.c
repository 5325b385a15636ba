/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/capture/capture_fake.h"

#include "tests/unit/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELD(name_, type_, role_)                                                                 \
    {                                                                                              \
        .name = name_, .type = SBT_FIELD_##type_, .role = SBT_ROLE_##role_, .detail = ""           \
    }

static const struct sbt_field address_fields[] = {FIELD("address", DEVPTR, ADDRESS)};
static const struct sbt_field launch_fields[] = {
    FIELD("order", UINT, NONE),
    FIELD("value", UINT, NONE),
    FIELD("name", STRING, FUNCTION_NAME),
    FIELD("arguments", BYTES, ARGUMENTS),
};
static const struct sbt_field copy_in_fields[] = {
    FIELD("order", UINT, NONE),
    FIELD("destination", DEVPTR, DST),
    FIELD("bytes", BLOB, PAYLOAD),
};
static const struct sbt_field copy_out_fields[] = {
    FIELD("order", UINT, NONE),
    FIELD("destination", HOSTPTR, HOST_DST),
    FIELD("size", SIZE, SIZE),
};
static const struct sbt_field order_fields[] = {FIELD("order", UINT, NONE)};

#define SCHEMA(call_, name_, kind_, fields_)                                                       \
    {                                                                                              \
        .type = SBT_TYPE(7, call_), .name = name_, .kind = SBT_KIND_##kind_, .result_enum = "",    \
        .field_count = sizeof(fields_) / sizeof((fields_)[0]), .fields = fields_                   \
    }

static const struct sbt_schema schemas[] = {
    SCHEMA(FAKE_CREATE, "fakeCreate", CREATE, address_fields),
    SCHEMA(FAKE_DESTROY, "fakeDestroy", DESTROY, address_fields),
    SCHEMA(FAKE_LAUNCH, "fakeLaunch", COMMAND, launch_fields),
    SCHEMA(FAKE_COPY_IN, "fakeCopyIn", COMMAND, copy_in_fields),
    SCHEMA(FAKE_COPY_OUT, "fakeCopyOut", COMMAND, copy_out_fields),
    SCHEMA(FAKE_SYNC, "fakeSync", SYNC, order_fields),
    SCHEMA(FAKE_FREE_ASYNC, "fakeFreeAsync", DESTROY, address_fields),
    SCHEMA(FAKE_HANG, "fakeHang", SYNC, copy_in_fields),
};

static const struct tsm_call_description calls[] = {
    {&schemas[0], TSM_CALL_GENERATED, "fake"}, {&schemas[1], TSM_CALL_GENERATED, "fake"},
    {&schemas[2], TSM_CALL_GENERATED, "fake"}, {&schemas[3], TSM_CALL_GENERATED, "fake"},
    {&schemas[4], TSM_CALL_GENERATED, "fake"}, {&schemas[5], TSM_CALL_GENERATED, "fake"},
    {&schemas[6], TSM_CALL_GENERATED, "fake"}, {&schemas[7], TSM_CALL_GENERATED, "fake"},
};

static const struct tsm_api_description description = {.api = FAKE_API,
                                                       .name = "cuda", /* one that TS_APIS knows */
                                                       .calls = calls,
                                                       .call_count =
                                                           sizeof(calls) / sizeof(calls[0])};

static struct tsm_stream *streams[FAKE_STREAM_COUNT];
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static void forked(void)
{
    memset(streams, 0, sizeof(streams));
}

static bool quiet(uint64_t until_ns);
static bool save(void);

static const struct tsm_source source = {
    .description = &description, .quiet = quiet, .save = save, .forked = forked};

/* Another API, which most programs do not use. */
static const struct sbt_member part_members[] = {
    {"number", SBT_FIELD_UINT, SBT_FORM_ONE, ""},
    {"bytes", SBT_FIELD_BYTES, SBT_FORM_ONE, ""},
};
static const struct sbt_struct other_structs[] = {
    {SBT_TYPE(FAKE_OTHER_API, 1), 0, "FakePart", 2, part_members}};
static const struct sbt_field tell_fields[] = {
    {"first", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "FakePart"},
    {"second", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "FakePart"},
    {"after", SBT_FIELD_UINT, SBT_ROLE_NONE, ""}};
static const struct sbt_schema tell_schema = {
    SBT_TYPE(6, FAKE_TELL), "fakeTell", SBT_KIND_OTHER, 0, "", 3, tell_fields};
static const struct tsm_call_description other_calls[] = {
    {&tell_schema, TSM_CALL_GENERATED, "fake"}};
static const struct tsm_api_description other_description = {.api = FAKE_OTHER_API,
                                                             .name = "other",
                                                             .calls = other_calls,
                                                             .call_count = 1,
                                                             .structs = other_structs,
                                                             .struct_count = 1};
static const struct tsm_source other_source = {.description = &other_description};
const struct tsm_source *const tsm_sources[] = {&source, &other_source, NULL};

/* ---- the driver -------------------------------------------------------------------------------
 */

static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t driver_order[FAKE_STREAM_COUNT];
static uint64_t driver_free[1024], driver_free_count, driver_next = 0x1000;

static uint64_t driver_enqueue(unsigned stream)
{
    uint64_t order;

    pthread_mutex_lock(&driver_lock);
    order = ++driver_order[stream];
    pthread_mutex_unlock(&driver_lock);
    return order;
}

static uint64_t driver_allocate(void)
{
    uint64_t address;

    pthread_mutex_lock(&driver_lock);
    address = driver_free_count ? driver_free[--driver_free_count] : (driver_next += 0x1000);
    pthread_mutex_unlock(&driver_lock);
    return address;
}

static void driver_release(uint64_t address)
{
    pthread_mutex_lock(&driver_lock);
    if (driver_free_count < 1024)
        driver_free[driver_free_count++] = address;
    pthread_mutex_unlock(&driver_lock);
}

bool fake_is_busy, fake_dies_saving;

/* Its memory is how many commands each stream was given. */
static bool read_memory(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    memcpy(out, (const char *)m->user + offset, size);
    return true;
}

static bool save(void)
{
    const struct tsm_memory memory = {.kind = SBT_MEMORY_DEVICE,
                                      .address = FAKE_MEMORY,
                                      .size = sizeof(driver_order),
                                      .read = read_memory,
                                      .user = driver_order};

    if (!tsm_checkpoint_memory(&memory))
        return false;
    if (fake_dies_saving)
        raise(SIGKILL);
    return true;
}

static bool quiet(uint64_t until_ns)
{
    return !fake_is_busy;
}

/* ---- the wrappers -----------------------------------------------------------------------------
 */

#define BEGIN(call_) tsm_call_begin(&call, SBT_TYPE(7, call_))

struct tsm_stream *fake_stream(unsigned index)
{
    struct tsm_stream *stream;

    pthread_mutex_lock(&streams_lock);
    if (!streams[index])
        streams[index] = tsm_stream_create(FAKE_API);
    stream = streams[index];
    pthread_mutex_unlock(&streams_lock);
    return stream;
}

uint64_t fake_create(void)
{
    struct tsm_call call;
    uint64_t address;

    if (!BEGIN(FAKE_CREATE))
        return driver_allocate();
    address = driver_allocate();
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, address);
    tsm_call_commit(&call);
    return address;
}

void fake_destroy(uint64_t address)
{
    struct tsm_call call;

    if (!BEGIN(FAKE_DESTROY)) {
        driver_release(address);
        return;
    }
    driver_release(address);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, address);
    tsm_call_commit(&call);
}

__attribute__((noinline)) void fake_launch(unsigned stream, uint64_t value, const char *name)
{
    struct tsm_call call;
    uint64_t order;

    if (!BEGIN(FAKE_LAUNCH)) {
        driver_enqueue(stream);
        return;
    }
    tsm_call_on_stream(&call, fake_stream(stream), TSM_ENQUEUES);
    order = driver_enqueue(stream);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, order);
    tsm_call_slot(&call, value);
    tsm_call_string(&call, name);
    tsm_call_bytes(&call, &value, sizeof(value));
    tsm_call_commit(&call);
    tsm_checkpoint_point(false);
}

void fake_copy_in(unsigned stream, uint64_t destination, const void *data, uint64_t size)
{
    struct tsm_call call;
    uint64_t order;

    if (!BEGIN(FAKE_COPY_IN)) {
        driver_enqueue(stream);
        return;
    }
    tsm_call_on_stream(&call, fake_stream(stream), TSM_ENQUEUES);
    order = driver_enqueue(stream);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, order);
    tsm_call_slot(&call, destination);
    tsm_call_blob(&call, data, size);
    tsm_call_commit(&call);
}

void fake_copy_out(unsigned stream, void *host, uint64_t size, int byte, bool wait)
{
    struct tsm_box box = {host, size, 1, 1, size, size};
    struct tsm_call call;
    uint64_t order;

    if (!BEGIN(FAKE_COPY_OUT)) {
        driver_enqueue(stream);
        memset(host, byte, size);
        return;
    }
    tsm_call_on_stream(&call, fake_stream(stream), wait ? TSM_BLOCKS : TSM_ENQUEUES);
    order = driver_enqueue(stream);
    memset(host, byte, size);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, order);
    tsm_call_slot(&call, (uint64_t)(uintptr_t)host);
    tsm_call_slot(&call, size);
    tsm_readback(&call, &box, wait);
    tsm_call_commit(&call);
}

void fake_sync(int stream)
{
    struct tsm_call call;

    if (!BEGIN(FAKE_SYNC))
        return;
    tsm_call_on_stream(&call, stream < 0 ? NULL : fake_stream((unsigned)stream), TSM_BLOCKS);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, 0);
    tsm_call_commit(&call);
    tsm_synchronised(FAKE_API, stream < 0 ? NULL : fake_stream((unsigned)stream));
    tsm_checkpoint_point(true);
}

void fake_tell(const void *first, size_t first_size, const void *second, size_t second_size)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(6, FAKE_TELL)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_struct(&call, first, first_size);
    tsm_call_struct(&call, second, second_size);
    tsm_call_slot(&call, 4711);
    tsm_call_commit(&call);
}

void fake_hang(unsigned stream)
{
    struct tsm_call call;

    if (BEGIN(FAKE_HANG))
        tsm_call_on_stream(&call, fake_stream(stream), TSM_BLOCKS);
    for (;;)
        pause();
}

/* ---- looking at it ------------------------------------------------------------------------------
 */

void fake_begin(const char *path)
{
    unlink(path);
    setenv("TS_OUTPUT", path, 1);
}

int fake_run(void (*body)(void *argument), void *argument)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        body(argument);
        tsm_session_finish();
        _exit(check_result());
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        check_failures++;
    return status;
}

struct sbt_reader *fake_open(const char *path)
{
    struct sbt_reader *reader;

    if (sbt_reader_open(&reader, path) != 0) {
        fprintf(stderr, "%s: %s\n", path, tsm_error_message());
        exit(1);
    }
    for (size_t i = 0; i < sbt_reader_damage_count(reader); i++) {
        fprintf(stderr, "%s: %s\n", path, sbt_reader_damage(reader, i));
        check_failures++;
    }
    return reader;
}

static void check_launch(struct sbt_reader *reader, const struct sbt_record *r, uint64_t *last)
{
    const char *name = sbt_reader_string(reader, (uint32_t)r->slots[2]);
    const uint8_t *arguments;
    const uint64_t *frames;
    uint64_t value;
    size_t size;

    if (r->stream < FAKE_STREAM_COUNT) {
        if (r->slots[0] <= *last)
            CHECK_EQ_INT(r->slots[0], *last + 1);
        *last = r->slots[0];
    }
    if (!name || strncmp(name, "kernel", 6) != 0)
        CHECK_EQ_STR(name, "kernel...");
    if (!sbt_record_bytes(r, 3, &arguments, &size) || size != 8 ||
        (memcpy(&value, arguments, 8), value != r->slots[1]))
        CHECK(!"the arguments are the value");
    if (r->stack && sbt_reader_stack(reader, r->stack, &frames) <= 0)
        CHECK(!"the stack is there");
}

static void check_blob(struct sbt_reader *reader, const struct sbt_record *r)
{
    struct sbt_blob blob;
    uint8_t piece[SBT_PIECE_SIZE];

    if (!CHECK(sbt_record_blob(r, 2, &blob)))
        return;
    for (uint64_t i = 0; i < blob.piece_count; i++) { /* none where the record has the bytes */
        struct sbt_key key;
        memcpy(&key, blob.keys + 16 * i, 16);
        if (sbt_reader_piece(reader, &key, piece) < 0)
            CHECK(!"the piece is there");
    }
}

uint64_t fake_check(struct sbt_reader *reader)
{
    uint64_t last[FAKE_STREAM_COUNT] = {0}, none = 0, count = 0, seq = 0;
    const struct sbt_record *r;
    struct sbt_cursor *cursor;
    int got;

    CHECK_EQ_INT(sbt_cursor_create(&cursor, reader, NULL, 0), 0);
    while ((got = sbt_cursor_next(cursor, &r)) == 1) {
        if (r->seq != seq++)
            CHECK_EQ_INT(r->seq, seq - 1);
        if (r->type == SBT_TYPE(7, FAKE_LAUNCH)) {
            check_launch(reader, r, r->stream < FAKE_STREAM_COUNT ? &last[r->stream] : &none);
            count++;
        } else if (r->type == SBT_TYPE(7, FAKE_COPY_IN)) {
            check_blob(reader, r);
            last[r->stream] = r->slots[0];
        }
    }
    CHECK_EQ_INT(got, 0);
    sbt_cursor_destroy(cursor);
    return count;
}

uint64_t fake_each(struct sbt_reader *reader, uint32_t type,
                   void (*visit)(struct sbt_reader *reader, const struct sbt_record *r, void *user),
                   void *user)
{
    const struct sbt_record *r;
    struct sbt_cursor *cursor;
    uint64_t count = 0;

    CHECK_EQ_INT(sbt_cursor_create(&cursor, reader, NULL, 0), 0);
    while (sbt_cursor_next(cursor, &r) == 1) {
        if (r->type != type)
            continue;
        if (visit)
            visit(reader, r, user);
        count++;
    }
    sbt_cursor_destroy(cursor);
    return count;
}
