/* SPDX-License-Identifier: Apache-2.0
 *
 * nvtx_labels WHAT: labels of NVTX around kernels ("work"), or alone: all that labels can say
 * ("facts"), mistakes ("wrong"), more than there is room for ("many"), threads, a forked child
 * ("fork"), one that is executed ("exec"), a signal handler ("signal"), a sandbox ("sandbox").
 * Their results are checked where there is a tool, and printed never.
 */
#include "tests/programs/nvtx_loader.h"
#include "tests/programs/program.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static bool attached;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Results that NVTX promises where there is a tool, and those where there is none. */
#define LEVEL(call, level) CHECK((call) == (attached ? (level) : -2))

static struct nvtx_attributes named(const char *text)
{
    return (struct nvtx_attributes){
        .version = 3, .size = 48, .message_type = NVTX_BYTES, .message = text};
}

/* ---- around kernels ------------------------------------------------------------------------- */

enum { COUNT = 512 };
static CUfunction fill;
static CUdeviceptr memory;
static CUcontext context;
static void *other_domain;
static uint64_t across;

static void launch(unsigned value)
{
    int count = COUNT;

    program_launch(fill, COUNT, NULL, (void *[]){&count, &value, &memory});
}

static void *other_thread(void *unused)
{
    const struct nvtx_attributes in_domain = named("elsewhere in a domain");

    CU(cuCtxSetCurrent(context));
    LEVEL(nvtx.push("elsewhere"), 0);
    LEVEL(nvtx_domain.push_ex(other_domain, &in_domain), 0);
    launch(7);
    LEVEL(nvtx_domain.pop(other_domain), 0);
    LEVEL(nvtx.pop(), 0);
    LEVEL(nvtx.pop(), -1);
    nvtx.end(across);
    return NULL;
}

/* Ranges of two domains that do not nest in each other. */
static void interleave(void)
{
    const struct nvtx_attributes crossing = named("crossing");

    LEVEL(nvtx.push("first"), 1);
    LEVEL(nvtx_domain.push_ex(other_domain, &crossing), 0);
    launch(4);
    LEVEL(nvtx.pop(), 1);
    launch(5);
    launch(6);
    LEVEL(nvtx_domain.pop(other_domain), 0);
}

static void work(void)
{
    CUmodule module = program_begin(&context);
    unsigned values[COUNT];
    pthread_t thread;

    fill = program_function(module, "fill");
    CU(cuMemAlloc_v2(&memory, sizeof(values)));
    other_domain = nvtx_domain.create("library");
    CHECK(!attached || other_domain);
    across = nvtx.start("across");
    launch(1);
    LEVEL(nvtx.push("outer"), 0);
    launch(2);
    LEVEL(nvtx.push("inner"), 1);
    launch(3);
    nvtx.mark("point");
    LEVEL(nvtx.pop(), 1);
    interleave();
    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    launch(8);
    LEVEL(nvtx.pop(), 0);
    launch(9); /* in no range: `across` has ended in the thread */
    CU(cuMemcpyDtoH_v2(values, memory, sizeof(values)));
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    printf("work: %08x\n", program_digest(values, sizeof(values)));
}

/* ---- alone ---------------------------------------------------------------------------------- */

static void payloads(void *domain)
{
    static const uint64_t bits[] = {0,          UINT64_MAX, (uint64_t)-5, 0x3ff8000000000000u,
                                    0xffffffff, 0xfffffffb, 0x40200000};

    for (int type = 1; type <= 6; type++) {
        struct nvtx_attributes a = named("payload");

        a.payload_type = type;
        a.payload = bits[type] | (type > 3 ? UINT64_C(0xdead) << 32 : 0);
        nvtx_domain.mark_ex(domain, &a);
    }
}

static void facts(void)
{
    void *domain = nvtx_domain.create_wide(L"d\u00f6main \U0001f600"), *text;
    struct nvtx_attributes a = named(NULL);

    CHECK(!attached || domain);
    CHECK(!attached || domain == nvtx_domain.create("d\u00f6main \U0001f600"));
    text = nvtx_domain.register_string(domain, "registered");
    CHECK(!attached || (text && text == nvtx_domain.register_string(domain, "registered")));
    nvtx_domain.name_category(domain, 7, "seven");
    nvtx_domain.name_category_wide(domain, 8, L"\u20ac");
    nvtx.name_category(7, "seven of no domain");
    nvtx.name_thread((uint32_t)syscall(SYS_gettid), "named thread");
    nvtx.name_thread(1, "somebody else");
    a = (struct nvtx_attributes){3, 48, 7, 1, 0xff00ff80, 0, 0, 0, NVTX_REGISTERED, text};
    LEVEL(nvtx_domain.push_ex(domain, &a), 0);
    a.category = 8;
    nvtx.mark_ex(&a); /* another domain: no name there */
    a.category = 7;
    nvtx.mark_ex(&a);
    payloads(domain);
    LEVEL(nvtx_domain.pop(domain), 0);
    LEVEL(nvtx.push_wide(L"wide \u00e9"), 0);
    nvtx.mark_wide(L"\U0010ffff\xd800");
    LEVEL(nvtx.pop(), 0);
    nvtx_domain.destroy(domain);
    nvtx_domain.end(domain, nvtx_domain.start_ex(domain, &a));
    CHECK(!attached || nvtx_domain.create_resource(domain, &a));
    nvtx_domain.initialize(NULL);
    printf("facts\n");
}

static void wrong_handles(void)
{
    struct nvtx_attributes a = named("in no domain");
    void *const none = (void *)~(uintptr_t)0, *near = (char *)nvtx_domain.create("near") + 1;

    LEVEL(nvtx_domain.push_ex(none, &a), -1);
    LEVEL(nvtx_domain.pop(none), -1);
    LEVEL(nvtx_domain.push_ex(near, &a), -1);
    nvtx_domain.mark_ex(none, &a);
    nvtx_domain.end(none, nvtx_domain.start_ex(none, &a));
    nvtx_domain.name_category(none, 1, "x");
    nvtx_domain.destroy(none);
    nvtx_domain.destroy_resource(none);
    a = (struct nvtx_attributes){3, 48, .message_type = NVTX_REGISTERED, .message = none};
    nvtx.mark_ex(&a);
    a.message = NULL;
    nvtx.mark_ex(&a);
    nvtx.end(0);
    nvtx.end(UINT64_MAX);
}

static void wrong_texts(void)
{
    const size_t size = 100000;
    char *text = malloc(size + 1);
    wchar_t *wide = malloc((size + 1) * sizeof(*wide));

    for (size_t i = 0; i < size; i++) {
        text[i] = (char)('a' + i % 26);
        wide[i] = i % 2 ? L'x' : 0x20ac;
    }
    text[size] = '\0';
    wide[size] = 0;
    nvtx.mark(text);
    nvtx.mark_wide(wide);
    nvtx_domain.register_string(NULL, text);
    nvtx_domain.register_wide(NULL, wide);
    nvtx.mark("\xff\xfe not UTF-8");
    nvtx.mark("");
    nvtx.mark(NULL);
    nvtx.mark_wide(NULL);
    nvtx.mark_ex(NULL);
    LEVEL(nvtx.push(NULL), 0);
    LEVEL(nvtx.pop(), 0);
    nvtx_domain.register_string(NULL, NULL);
    nvtx_domain.create_wide(NULL);
    nvtx.name_category(3, NULL);
    nvtx.name_thread((uint32_t)syscall(SYS_gettid), NULL);
    free(wide);
    free(text);
}

/* Attributes that end where the memory does. */
static void wrong_sizes(void)
{
    for (uint16_t size = 0; size <= 48; size++) {
        struct nvtx_attributes a = named("sized"), *cut;

        a.category = size + 1u;
        a.size = size;
        cut = malloc(size < 4 ? 4 : size);
        memcpy(cut, &a, size < 4 ? 4 : size);
        nvtx.mark_ex(cut);
        free(cut);
    }
}

static void wrong(void)
{
    LEVEL(nvtx.pop(), -1);
    wrong_handles();
    wrong_texts();
    wrong_sizes();
    printf("wrong\n");
}

/* Threads that give the same names at once get the same handles. */
enum { SHARED = 200 };
static void *shared[SHARED][2];

static void share_names(void)
{
    char name[32];

    for (int i = 0; i < SHARED; i++) {
        void *handles[2], *first;

        snprintf(name, sizeof(name), "shared %d", i);
        handles[0] = nvtx_domain.register_string(NULL, name);
        handles[1] = nvtx_domain.create(name);
        for (int kind = 0; kind < 2; kind++) {
            first = NULL;
            if (!__atomic_compare_exchange_n(&shared[i][kind], &first, handles[kind], false,
                                             __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                CHECK(first == handles[kind]);
        }
    }
}

static void *some_threads(void *unused)
{
    struct nvtx_attributes a = named("deep");
    void *domain = nvtx_domain.create("deep");

    share_names();
    for (int i = 0; i < 200; i++) {
        LEVEL(nvtx.push("level"), i);
        LEVEL(nvtx_domain.push_ex(domain, &a), i);
    }
    for (int i = 199; i >= 0; i--) {
        LEVEL(nvtx_domain.pop(domain), i);
        LEVEL(nvtx.pop(), i);
    }
    LEVEL(nvtx_domain.push_ex(domain, &a), 0); /* it ends with one open */
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[64];

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 64; i++)
            CHECK(pthread_create(&threads[i], NULL, some_threads, NULL) == 0);
        for (int i = 0; i < 64; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
    }
    printf("threads\n");
}

static void many(void)
{
    char name[32];

    for (int i = 0; i < 80000; i++) {
        void *text, *domain = NULL;
        struct nvtx_attributes a = named("in one of many");

        snprintf(name, sizeof(name), "number %d", i);
        text = nvtx_domain.register_string(NULL, name);
        CHECK(!attached || text);
        if (i < 6000)
            domain = nvtx_domain.create(name);
        CHECK(!attached || i >= 6000 || domain);
        nvtx.name_category((uint32_t)i, name);
        if (i % 997)
            continue;
        a.category = (uint32_t)i;
        LEVEL(nvtx_domain.push_ex(domain, &a), 0);
        LEVEL(nvtx_domain.pop(domain), 0);
    }
    printf("many\n");
}

static void in_child(void)
{
    int status;
    pid_t child;

    LEVEL(nvtx.push("parent"), 0);
    child = fork();
    if (child == 0) {
        LEVEL(nvtx.push("child"), 1);
        LEVEL(nvtx.pop(), 1);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    LEVEL(nvtx.pop(), 0);
    printf("fork\n");
}

static void on_signal(int number)
{
    nvtx.push("in a handler");
    nvtx.mark("point in a handler");
    nvtx.pop();
}

/* Comes in the midst of anything; what it says may be in no record. */
static void on_alarm(int number)
{
    void *domain = nvtx_domain.create("handler's");
    struct nvtx_attributes a = named("at any time");

    nvtx_domain.push_ex(domain, &a);
    nvtx.push("at any time");
    nvtx.pop();
    nvtx_domain.pop(domain);
}

static void with_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, alarm = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGALRM, &alarm, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 1000; i++) {
        struct nvtx_attributes a = named("outside");

        LEVEL(nvtx.push("outside"), 0);
        CHECK(raise(SIGUSR1) == 0);
        nvtx.mark_ex(&a);
        LEVEL(nvtx.pop(), 0);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    printf("signal\n");
}

/* It may only read, write and end from here on. */
static void sandboxed(void)
{
    static const char done[] = "sandbox\n";
    static wchar_t wide[400];
    char name[] = "name 00";

    for (int i = 0; i < 399; i++)
        wide[i] = L'x';
    LEVEL(nvtx.push("before"), 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (int i = 0; i < 100; i++) {
        name[5] = (char)('0' + i / 10);
        name[6] = (char)('0' + i % 10);
        CHECK(!attached || nvtx_domain.register_string(NULL, name));
        CHECK(!attached || nvtx_domain.create(name));
        nvtx.name_category((uint32_t)i, name);
        nvtx.mark(name);
    }
    CHECK(!attached || nvtx_domain.register_wide(NULL, wide));
    nvtx.mark_wide(wide);
    nvtx.name_thread(1, "sandboxed");
    LEVEL(nvtx.pop(), 0);
    if (write(1, done, sizeof(done) - 1) > 0)
        syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "work";

    if (strcmp(what, "exec") == 0) {
        fflush(stdout);
        execl("/proc/self/exe", argv[0], "facts", (char *)NULL);
        return 1;
    }
    attached = nvtx_load();
    if (getenv("TEST_ATTACHED"))
        CHECK(attached == (getenv("TEST_ATTACHED")[0] == '1'));
    if (strcmp(what, "work") == 0)
        work();
    else if (strcmp(what, "facts") == 0)
        facts();
    else if (strcmp(what, "wrong") == 0)
        wrong();
    else if (strcmp(what, "threads") == 0)
        in_threads();
    else if (strcmp(what, "many") == 0)
        many();
    else if (strcmp(what, "fork") == 0)
        in_child();
    else if (strcmp(what, "sandbox") == 0)
        sandboxed();
    else
        with_signals();
    return 0;
}
