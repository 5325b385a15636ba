/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of more pieces than a writer remembers: some are stored twice, and that is right.
 */
#include "tests/unit/format_sample_check.h"

static void print_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

int main(void)
{
    const struct sbt_writer_options options = {.chunk_size = 100000};
    const char *path = sample_path("forget.sbt");
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_reader *r;

    CHECK_EQ_INT(sample_write(path, 300, &options), 0);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
    r = sample_open(path);
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1)
        if (record->type == SAMPLE_TYPE_ALL)
            sample_check_blob(r, record);
    sample_check_undamaged(r);
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
    return check_result();
}
