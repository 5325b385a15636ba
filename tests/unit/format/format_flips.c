/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits flipped at random: neither the reader nor sbt_check() takes the trace for whole, and nothing
 * that is read is other than what was written. Arguments: traces. TS_TEST_ALL=1: 100,000 flips of
 * each; else 1,000.
 */
#include "tests/unit/check.h"
#include "tests/unit/format/format_bytes.h"

#include "base/hash.h"
#include "tracesmith/reader.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

struct outcome {
    uint64_t refused, damaged, checked, records, same_records;
};

static uint64_t state = 1;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void ignore_violation(void *user, uint64_t offset, const char *text)
{
    (void)user, (void)offset, (void)text;
}

/* The number of records, and a hash of each in *hashes, if that is NULL; else they are compared
 * with them. */
static uint64_t read_records(struct sbt_reader *r, struct tsm_buffer *hashes, bool compare,
                             bool *wrong)
{
    const uint64_t *known = (const void *)hashes->data;
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    uint64_t count = 0;

    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1) {
        uint64_t hash = tsm_hash64(record->data, record->data_size) ^
                        tsm_hash64(record->slots, 8 * (size_t)record->slot_count) ^
                        ((record->time_ns * 31 + record->type) * 31 + record->position);
        if (!compare)
            tsm_buffer_add_u64(hashes, hash);
        else
            *wrong |= record->seq >= hashes->size / 8 || known[record->seq] != hash;
        count++;
    }
    sbt_cursor_destroy(c);
    return count;
}

static void judge(struct outcome *o, const struct tsm_buffer *bytes, const char *path, int fd,
                  size_t at, struct tsm_buffer *hashes)
{
    struct memory memory = {.data = bytes->data, .size = bytes->size};
    struct sbt_source source = {.read_at = memory_read_at, .size = memory_size, .user = &memory};
    struct sbt_reader *r;
    bool wrong = false;

    if (sbt_reader_open_source(&r, &source, "memory") < 0) {
        o->refused++;
    } else {
        o->same_records += read_records(r, hashes, true, &wrong) == hashes->size / 8;
        CHECK_EQ_INT(sbt_reader_examine(r), 0);
        if (!CHECK(!wrong) || !CHECK(sbt_reader_damage_count(r) > 0))
            fprintf(stderr, "  byte %zu\n", at);
        o->damaged++;
        sbt_reader_destroy(r);
    }
    CHECK_EQ_INT(pwrite(fd, bytes->data + at, 1, (off_t)at), 1);
    if (!CHECK(sbt_check(path, ignore_violation, NULL) != 0))
        fprintf(stderr, "  byte %zu\n", at);
    o->checked++;
}

static void flip(const char *name, uint64_t count)
{
    struct tsm_buffer bytes = file_read(name), hashes = {0};
    int fd = memfd_create("flips", MFD_CLOEXEC);
    struct outcome o = {0};
    struct sbt_reader *r;
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK_EQ_INT(write(fd, bytes.data, bytes.size), (long long)bytes.size);
    if (!CHECK_EQ_INT(sbt_reader_open(&r, name), 0))
        return;
    o.records = read_records(r, &hashes, false, NULL);
    sbt_reader_destroy(r);
    for (uint64_t i = 0; i < count; i++) {
        size_t at = next_random() % bytes.size;
        uint8_t bit = (uint8_t)(1u << next_random() % 8);
        bytes.data[at] ^= bit;
        judge(&o, &bytes, path, fd, at, &hashes);
        bytes.data[at] ^= bit;
        CHECK_EQ_INT(pwrite(fd, bytes.data + at, 1, (off_t)at), 1);
    }
    printf("%s: %zu bytes, %" PRIu64 " records: %" PRIu64 " flips: refused %" PRIu64
           ", damaged %" PRIu64 " (all records there: %" PRIu64 "), violations of %" PRIu64 "\n",
           strrchr(name, '/') ? strrchr(name, '/') + 1 : name, bytes.size, o.records, count,
           o.refused, o.damaged, o.same_records, o.checked);
    close(fd);
    tsm_buffer_finish(&bytes);
    tsm_buffer_finish(&hashes);
}

int main(int argc, char **argv)
{
    uint64_t count = getenv("TS_TEST_ALL") ? 100000 : 1000;

    for (int i = 1; i < argc; i++)
        flip(argv[i], count);
    return check_result();
}
