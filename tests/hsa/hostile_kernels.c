/* SPDX-License-Identifier: Apache-2.0
 *
 * A code object that does what a trace must not get done: in a constructor (HOSTILE_CONSTRUCTOR is
 * which), or in a kernel, by an argument. It behaves while TEST_RECORDING is set.
 */
#include "tests/hsa/hostile_kernels.h"

#include "tracesmith/hsa_kernel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile uint64_t seen, constant;

static void system_call(enum hostile_deed deed)
{
    static char name[] = "touch", made[] = "hostile.made";
    static char *const argv[] = {name, made, NULL};
    const struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(9)};
    char line[64];
    int file;

    switch (deed) {
    case HOSTILE_FILE:
        close(creat("hostile.made", 0600));
        break;
    case HOSTILE_CONNECT:
        file = socket(AF_INET, SOCK_STREAM, 0);
        connect(file, (const void *)&there, sizeof(there));
        close(file);
        close(creat("hostile.made", 0600));
        break;
    case HOSTILE_EXEC:
        execv("/usr/bin/touch", argv);
        break;
    case HOSTILE_KILL:
        kill(getppid(), SIGKILL);
        kill(getpid(), SIGKILL);
        break;
    case HOSTILE_READ_FILE:
        file = open("/etc/passwd", O_RDONLY);
        seen = read(file, line, sizeof(line)) > 0 ? (uint64_t)line[0] : 0;
        close(file);
        break;
    case HOSTILE_FORK:
        if (fork() == 0)
            system_call(HOSTILE_EXEC);
        break;
    case HOSTILE_TRUNCATE:
        for (file = 3; file < 16; file++)
            syscall(SYS_ftruncate, file, 0);
        break;
    case HOSTILE_DUMPABLE:
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        break;
    case HOSTILE_TRACE:
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        break;
    case HOSTILE_SHARED_FILE:
        mmap(NULL, 4096, PROT_READ, MAP_SHARED, 5, 0);
        break;
    default:
        break;
    }
}

static uint64_t recurse(volatile uint64_t *above)
{
    volatile uint64_t here[512] = {*above};

    return here[0] > UINT64_MAX / 2 ? 0 : here[0] + recurse(&here[511]) + here[1];
}

/* Asks for memory that no limit of data counts. */
static bool has_mapped(size_t size, int protection, int flags)
{
    return mmap(NULL, size, protection, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static void do_it(const struct hostile_arguments *a)
{
    volatile uint64_t *there = (uint64_t *)(uintptr_t)a->address;
    void *much;

    switch (a->deed) {
    case HOSTILE_READ_MEMORY:
        *a->out += *there != 0;
        break;
    case HOSTILE_WRITE_MEMORY:
        *there = 0x1122334455667788u;
        break;
    case HOSTILE_LOOP:
        for (;;) {
        }
        break;
    case HOSTILE_STACK:
        seen = recurse(&constant);
        break;
    case HOSTILE_EXIT:
        _exit(0);
        break;
    case HOSTILE_MUCH_MEMORY:
        much = malloc((size_t)8 << 30);
        if (much)
            *a->out = 1000;
        free(much);
        break;
    case HOSTILE_SHARED_MEMORY:
        *a->out += has_mapped((size_t)8 << 30, PROT_READ | PROT_WRITE, MAP_SHARED);
        break;
    case HOSTILE_GROWING_MEMORY:
        *a->out += has_mapped((size_t)8 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN);
        break;
    case HOSTILE_ADDRESS_SPACE: /* each 2 MiB that are read cost the kernel a page of its tables */
        *a->out += has_mapped((size_t)16 << 40, PROT_READ, MAP_PRIVATE);
        break;
    default:
        system_call((enum hostile_deed)a->deed);
        break;
    }
}

static void attack(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct hostile_arguments *a = arguments;

    if (!getenv("TEST_RECORDING"))
        do_it(a);
    *a->out += 1;
}

#ifdef HOSTILE_CONSTRUCTOR
__attribute__((constructor)) static void construct(void)
{
    while (!getenv("TEST_RECORDING") && HOSTILE_CONSTRUCTOR == HOSTILE_LOOP) {
    }
    if (!getenv("TEST_RECORDING"))
        system_call(HOSTILE_CONSTRUCTOR);
}
#endif

TRACESMITH_HSA_KERNEL(attack, struct hostile_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct hostile_arguments, out),
                      TRACESMITH_HSA_VALUE(struct hostile_arguments, address),
                      TRACESMITH_HSA_VALUE(struct hostile_arguments, deed));
