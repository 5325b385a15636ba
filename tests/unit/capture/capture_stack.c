/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks: the cache gives what unwinding gives, at every depth, through different callers of the
 * same function at the same depth; the files they lie in are in the trace. A frame pointer that is
 * none is not followed.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PATH      "capture_stack.sbt"
#define DEPTH_MAX 40
#define ROUNDS    200

/* backtrace() from the function that calls fake_launch. */
static struct expected {
    void *frames[64];
    int count;
} expected[DEPTH_MAX * ROUNDS];

static unsigned launches;

#define NOINLINE __attribute__((noinline))
/* No tail call, and what is in the frame stays in it. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
#define KEEP(object) __asm__ volatile("" ::"r"(object) : "memory")

static NOINLINE void leaf(void)
{
    struct expected *e = &expected[launches];

    e->count = backtrace(e->frames, 64);
    fake_launch(0, launches, "kernel");
    launches++;
    KEEP_FRAME();
}

static NOINLINE void left(unsigned path, unsigned depth);

static NOINLINE void right(unsigned path, unsigned depth)
{
    char room[40];

    if (depth == 0)
        leaf();
    else if (path & 1)
        right(path >> 1, depth - 1);
    else
        left(path >> 1, depth - 1);
    KEEP(room);
}

static NOINLINE void left(unsigned path, unsigned depth)
{
    char room[40];

    if (depth == 0)
        leaf();
    else if (path & 1)
        right(path >> 1, depth - 1);
    else
        left(path >> 1, depth - 1);
    KEEP(room);
}

/* A frame whose size differs from call to call. */
static NOINLINE void grows(unsigned path, unsigned depth, size_t size)
{
    char *room = __builtin_alloca(size);

    left(path, depth);
    KEEP(room);
}

static void nowhere(void)
{
    expected[launches].count = -1; /* as much as can be told */
    fake_launch(0, launches++, "kernel");
    KEEP_FRAME();
}

/* Code without unwind information, as a JIT makes it, that has its own use for the frame pointer.
 */
static void from_made_code(void)
{
    static const unsigned char code[] = {
        0x55,                /* push %rbp */
        0xbd, 0x06, 0, 0, 0, /* mov $6, %ebp */
        0xff, 0xd7,          /* call *%rdi */
        0x5d, 0xc3,          /* pop %rbp; ret */
    };
    void *made = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*call)(void (*function)(void));

    if (!CHECK(made != MAP_FAILED))
        return;
    memcpy(made, code, sizeof(code));
    memcpy(&call, &made, sizeof(call));
    call(nowhere);
}

/* The return address into leaf() itself differs: backtrace() and fake_launch are two calls. */
static void visit(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    const struct expected *e = &expected[r->slots[1]];
    const uint64_t *frames;
    int count = sbt_reader_stack(reader, r->stack, &frames);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    int own = e->count - count; /* the sanitizer's backtrace() has a frame of its own */
    uint64_t code_size = 1024;  /* of leaf(), with what the sanitizer has put in */
#else
    int own = 0;
    uint64_t code_size = 128;
#endif
    if (e->count < 0 || !CHECK_EQ_INT(count, e->count - own))
        return;
    for (int i = 1; i < count; i++) {
        if (frames[i] != (uint64_t)(uintptr_t)e->frames[i + own])
            CHECK_EQ_INT(frames[i], (uint64_t)(uintptr_t)e->frames[i + own]);
    }
    CHECK((uint64_t)(uintptr_t)e->frames[own] < frames[0] &&
          frames[0] - (uint64_t)(uintptr_t)e->frames[own] < code_size);
}

static bool has_mapping(struct sbt_reader *reader, uint64_t address)
{
    for (size_t i = 0; i < sbt_reader_mapping_count(reader); i++) {
        const struct sbt_mapping *m = sbt_reader_mapping(reader, i);
        if (m->start <= address && address < m->end)
            return m->path[0] == '/' && m->build_id_size > 0;
    }
    return false;
}

int main(void)
{
    struct sbt_reader *reader;

    fake_begin(PATH);
    srandom(3);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned path = (unsigned)random() & 7;
        for (unsigned depth = 0; depth < DEPTH_MAX; depth += 5)
            left(path, depth);
        grows(path, 6, 16 + 16 * (i % 7));
    }
    from_made_code();
    tsm_session_finish();
    reader = fake_open(PATH);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), visit, NULL), launches);
    CHECK(has_mapping(reader, (uint64_t)(uintptr_t)main));
    CHECK(has_mapping(reader, (uint64_t)(uintptr_t)getenv));
    sbt_reader_destroy(reader);
    return check_result();
}
