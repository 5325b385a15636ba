/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls from where there is little stack: threads of 16 KiB, signal handlers on 8 KiB, coroutines of
 * 6 KiB. Also the first call of the process, which starts the recording; with host stacks,
 * checksums and checkpoints. Below each stack that the test makes lies a page that may not be touched.
 */
#include "base/text.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PATH "capture_small_stack.sbt"
#define PAGE 4096u

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static uint8_t bytes[300000];

static void calls(void)
{
    for (unsigned i = 0; i < 20; i++) {
        fake_launch(i % 2, i, "kernel");
        fake_copy_in(0, 0x900000, bytes, sizeof(bytes));
        fake_copy_out(0, bytes, sizeof(bytes), (int)i, i % 2);
        fake_sync(i % 2 ? -1 : 0);
    }
}

/* `size` bytes above a page that may not be touched. */
static char *make_stack(size_t size)
{
    char *stack = mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stack == MAP_FAILED || mprotect(stack, PAGE, PROT_NONE) != 0)
        abort();
    return stack + PAGE;
}

static void *thread_main(void *unused)
{
    calls();
    return NULL;
}

static void in_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    if (pthread_create(&thread, &attributes, thread_main, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

static void on_signal(int number)
{
    calls();
}

/* Memory that the kernel itself writes there is not the program's to use. */
static void in_handler(void)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    size_t size = 8192 + (frame > 2048 ? (frame - 2048 + 15) / 16 * 16 : 0);
    stack_t stack = {.ss_sp = make_stack(size), .ss_size = size};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    if (sigaltstack(&stack, NULL) != 0)
        abort();
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static ucontext_t main_context;

static void coroutine(void)
{
    calls();
    swapcontext(&(ucontext_t){.uc_link = NULL}, &main_context);
}

static void in_coroutine(void)
{
    static ucontext_t context;

    getcontext(&context);
    context.uc_stack = (stack_t){.ss_sp = make_stack(6144), .ss_size = 6144};
    context.uc_link = &main_context;
    makecontext(&context, coroutine, 0);
    swapcontext(&main_context, &context);
}

static void (*const places[])(void) = {in_thread, in_handler, in_coroutine};
static const char *const names[] = {"thread of 16 KiB", "signal handler on 8 KiB", "coroutine of 6 KiB"};

static void first_there(void *place)
{
    places[*(unsigned *)place]();
}

static void later_there(void *place)
{
    fake_launch(0, 1000, "kernel");
    places[*(unsigned *)place]();
    calls();
}

static void one(unsigned place, bool first, const char *checksum, const char *checkpoint)
{
    struct sbt_reader *reader;
    int status;

    fake_begin(PATH);
    setenv("TS_CHECKSUM", checksum, 1);
    setenv("TS_CHECKPOINT", checkpoint, 1);
    status = fake_run(first ? first_there : later_there, &place);
    CHECK(WIFEXITED(status));
    if (WIFEXITED(status)) {
        reader = fake_open(PATH);
        CHECK_EQ_INT(fake_check(reader), first ? 20 : 41);
        sbt_reader_destroy(reader);
    }
    if (check_failures)
        fprintf(stderr, "%s, %s call, TS_CHECKSUM=%s TS_CHECKPOINT=%s: status %#x\n", names[place],
                first ? "first" : "later", checksum, checkpoint, status);
    unlink(PATH ".lanes");
}

int main(void)
{
    static const char *const checksums[] = {"off", "sync", "command"};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return 77; /* their own frames do not fit */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
    return 77;
#endif
#endif
    setenv("TS_STACKS", "all", 1);
    for (unsigned place = 0; place < 3; place++)
        for (unsigned first = 0; first < 2; first++)
            for (unsigned i = 0; i < 6; i++)
                one(place, first, checksums[i % 3], i < 3 ? "0" : "3");
    return check_result();
}
