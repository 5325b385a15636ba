/* SPDX-License-Identifier: Apache-2.0
 *
 * Whoever writes a file chooses its keys. With keys that collide in one process, found by trying, a
 * table takes a step for each pair of them; in any other process the same keys take as few as any:
 * counted, not timed. And what is removed leaves room.
 */
#include "base/map.h"
#include "format/keyset.h"

#include "base/hash.h"
#include "tests/unit/check.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_COUNT  1024u
#define SLOT_COUNT (4 * KEY_COUNT)

/* Steps that a table of open addressing takes for all of `keys`: the reader's of pieces is one. */
static uint64_t steps_for(const struct sbt_key *keys)
{
    static bool used[SLOT_COUNT];
    uint64_t steps = 0;

    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t slot = sbt_key_hash(&keys[i]) % SLOT_COUNT;

        for (steps++; used[slot]; steps++)
            slot = (slot + 1) % SLOT_COUNT;
        used[slot] = true;
    }
    return steps;
}

/* Keys of contents that this process puts into the same slot. */
static void find_colliding(struct sbt_key *keys)
{
    size_t count = 0;

    for (uint64_t content = 0; count < KEY_COUNT; content++) {
        keys[count] = tsm_hash_key(&content, sizeof(content));
        count += sbt_key_hash(&keys[count]) % SLOT_COUNT == 0;
    }
}

static void set_and_get(void)
{
    struct tsm_map m = {0};

    CHECK_EQ_INT(tsm_map_get(&m, 7, 9), 9);
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 1000; i++)
            CHECK(tsm_map_set(&m, i * i, i + round));
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_EQ_INT(tsm_map_get(&m, i * i, 0), i + 1);
    CHECK_EQ_INT(tsm_map_get(&m, 2, 5), 5);
    CHECK_EQ_INT(m.count, 1000);
    tsm_map_finish(&m);
}

/* A window of keys that moves on: each is there, and the ones before are not, in little room. */
static void moving_keys(void)
{
    const uint64_t alive = 100, end = 100000;
    struct tsm_map m = {0};
    uint64_t wrong = 0;
    bool added;

    for (uint64_t i = 0; i < end; i++) {
        uint64_t *place = tsm_map_insert(&m, i * i, &added);

        wrong += !place || !added;
        if (place)
            *place = i;
        tsm_map_remove(&m, i < alive ? 1ull << 60 : (i - alive) * (i - alive));
    }
    for (uint64_t i = 0; i < end; i++) {
        const uint64_t *place = tsm_map_find(&m, i * i);

        wrong += i < end - alive ? place != NULL : !place || *place != i;
    }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(m.count, alive);
    CHECK(m.capacity <= 4 * alive);
    tsm_map_finish(&m);
    tsm_map_remove(&m, 1); /* of an empty one: nothing */
}

int main(int argc, char **argv)
{
    static struct sbt_key keys[KEY_COUNT];
    uint64_t many = (uint64_t)KEY_COUNT * KEY_COUNT / 2, steps;
    int file, status = -1;
    pid_t child;

    if (argc > 1) { /* the other process: it begins again, as a program that opens a file does */
        CHECK_EQ_INT(read(0, keys, sizeof(keys)), sizeof(keys));
        steps = steps_for(keys);
        if (!CHECK(steps < 2 * KEY_COUNT))
            fprintf(stderr, "%llu steps\n", (unsigned long long)steps);
        return check_result();
    }
    set_and_get();
    moving_keys();
    find_colliding(keys);
    CHECK(steps_for(keys) > many);
    file = memfd_create("keys", 0);
    CHECK_EQ_INT(pwrite(file, keys, sizeof(keys), 0), sizeof(keys));
    child = fork();
    if (child == 0) {
        dup2(file, 0);
        execl("/proc/self/exe", argv[0], "other", (char *)NULL);
        _exit(127);
    }
    CHECK_EQ_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return check_result();
}
