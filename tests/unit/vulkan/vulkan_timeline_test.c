/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/timeline.h"

#include "tests/unit/check.h"

enum { A = 100, B, C };     /* semaphores */
enum { FIRST = 1, SECOND }; /* queues */
static struct vk_timelines t;

static void begin(void)
{
    vk_timelines_finish(&t);
    CHECK(vk_timelines_set(&t, A, 0));
    CHECK(vk_timelines_set(&t, B, 0));
    CHECK(vk_timelines_set(&t, C, 0));
}

static void wait(uint64_t queue, uint64_t semaphore, uint64_t value)
{
    CHECK(vk_timelines_wait(&t, queue, semaphore, value));
}

static void signal(uint64_t queue, uint64_t semaphore, uint64_t value)
{
    CHECK(vk_timelines_signal(&t, queue, semaphore, value));
}

static bool stuck(uint64_t queue)
{
    return vk_timelines_is_stuck(&t, queue, NULL);
}

/* A batch's signal after a wait is not visible before the wait is met. */
static void test_own_signal(void)
{
    uint64_t semaphore = 0;

    begin();
    wait(FIRST, A, 1);
    signal(FIRST, A, 2);
    CHECK(vk_timelines_is_stuck(&t, FIRST, &semaphore));
    CHECK_EQ_INT(semaphore, A);
    CHECK(vk_timelines_any_stuck(&t));
    vk_timelines_host(&t, A, 1);
    CHECK(!stuck(FIRST));
    wait(SECOND, A, 2);
    CHECK(!vk_timelines_any_stuck(&t));
}

/* From one queue to the other and back, whichever is looked at first. */
static void test_chain(void)
{
    begin();
    wait(SECOND, B, 1);
    signal(SECOND, B, 2);
    wait(FIRST, A, 1);
    signal(FIRST, B, 1);
    wait(FIRST, B, 3);
    signal(FIRST, C, 1);
    CHECK(stuck(FIRST) && stuck(SECOND));
    vk_timelines_host(&t, A, 1);
    CHECK(stuck(FIRST) && !stuck(SECOND));
    wait(SECOND, C, 1);
    CHECK(stuck(SECOND));
    vk_timelines_host(&t, B, 3);
    CHECK(!vk_timelines_any_stuck(&t));
}

/* A later batch of the same queue signals only when the one before has. */
static void test_in_order(void)
{
    begin();
    wait(FIRST, A, 1);
    signal(FIRST, B, 1);
    wait(SECOND, B, 1);
    CHECK(stuck(SECOND));
    signal(FIRST, A, 1); /* comes too late */
    CHECK(stuck(FIRST) && stuck(SECOND));
}

static void test_others_and_gone(void)
{
    begin();
    wait(FIRST, 999, 5); /* never set: not followed */
    CHECK(!stuck(FIRST));
    wait(FIRST, A, 7);
    wait(SECOND, B, 7);
    vk_timelines_forget(&t, A);
    CHECK(!stuck(FIRST) && stuck(SECOND));
    vk_timelines_drop(&t, SECOND);
    CHECK(!vk_timelines_any_stuck(&t));
    CHECK(vk_timelines_set(&t, A, 0)); /* another one with its number */
    wait(FIRST, A, 1);
    CHECK(stuck(FIRST));
}

static void test_many(void)
{
    begin();
    for (uint64_t i = 0; i < 100; i++) {
        wait(FIRST, A, 2 * i + 1);
        signal(FIRST, A, 2 * i + 2);
    }
    for (uint64_t i = 0; i < 100; i++) {
        CHECK(stuck(FIRST));
        vk_timelines_host(&t, A, 2 * i + 1);
        wait(FIRST, A, 201); /* adds while some are through */
    }
    CHECK(stuck(FIRST));
    vk_timelines_host(&t, A, 201);
    CHECK(!stuck(FIRST));
}

int main(void)
{
    test_own_signal();
    test_chain();
    test_in_order();
    test_others_and_gone();
    test_many();
    vk_timelines_finish(&t);
    return check_result();
}
