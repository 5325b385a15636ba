/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule with whatever in it. What is read comes back the same when it is written and read
 * again; and each item has one turn, in the file's order but for those that are dropped, behind the
 * record that it names.
 */
#include "replay/schedule.h"
#include "replay/schedule_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"

#define ITEM_MAX 1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static int read_back(struct tsm_schedule *out, int fd, uint64_t item_max)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return tsm_schedule_read(out, path, item_max);
}

static void check_written(const struct tsm_schedule *schedule)
{
    char folder[] = "/tmp/fuzz-schedule.XXXXXX", path[64];
    struct tsm_schedule again = {0};

    check(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/s", folder);
    check(tsm_schedule_write(path, schedule) == 0);
    check(tsm_schedule_read(&again, path, ITEM_MAX) == 0 && again.count == schedule->count);
    for (size_t i = 0; i < again.count; i++) {
        const struct tsm_schedule_item *a = &schedule->items[i], *b = &again.items[i];
        check(a->kind == b->kind && a->seq == b->seq && a->has_at == b->has_at &&
              a->at_ns == b->at_ns && b->line == i + 2);
    }
    tsm_schedule_finish(&again);
    unlink(path);
    rmdir(folder);
}

static int compare_seqs(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Meets all records that are named, in their order. */
static void check_turns(const struct tsm_schedule *schedule)
{
    struct tsm_schedule_order order;
    uint64_t *seqs = calloc(schedule->count + 1, sizeof(*seqs));
    size_t turns = 0, dropped = 0, last = 0;
    const struct tsm_schedule_item *item;

    check(seqs != NULL);
    for (size_t i = 0; i < schedule->count; i++)
        seqs[i] = schedule->items[i].seq;
    qsort(seqs, schedule->count, sizeof(*seqs), compare_seqs);
    if (tsm_schedule_order_init(&order, schedule) == 0) {
        for (size_t i = 0; i <= schedule->count; i++) {
            const uint64_t seq = i < schedule->count ? seqs[i] : UINT64_MAX;
            while ((item = tsm_schedule_order_take(&order, seq))) {
                check(item->seq < seq && (size_t)(item - schedule->items) >= last);
                last = (size_t)(item - schedule->items);
                turns++;
            }
            if (i == schedule->count)
                continue;
            item = tsm_schedule_order_find(&order, seq);
            check(item && item->seq == seq);
            enum tsm_turn turn = tsm_schedule_order_meet(&order, item, TSM_HOST_NOT_USED);
            turns += turn == TSM_TURN_NOW;
            dropped += turn == TSM_TURN_NEVER;
            if (turn == TSM_TURN_LATER)
                check(tsm_schedule_order_left(&order, TSM_HOST_NOT_USED) != NULL);
        }
        check(turns + dropped == schedule->count);
        check(!tsm_schedule_order_left(&order, TSM_HOST_NOT_USED));
    }
    tsm_schedule_order_finish(&order);
    free(seqs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsm_schedule schedule = {0}, fewer = {0};
    int fd = tsm_output_file_unnamed();

    check(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    if (read_back(&schedule, fd, ITEM_MAX) == 0) {
        check(schedule.count <= ITEM_MAX);
        check_written(&schedule);
        check_turns(&schedule);
        if (schedule.count)
            check(read_back(&fewer, fd, schedule.count - 1) < 0 && !fewer.items);
    }
    tsm_schedule_finish(&schedule);
    close(fd);
    return 0;
}
