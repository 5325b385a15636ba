/* SPDX-License-Identifier: Apache-2.0
 *
 * The process in which code of a trace runs, as an enemy: it writes whatever it likes into the file
 * through which it gets its commands, at any moment. Input: commands of the replay (a count, and a
 * byte each), then steps of the enemy, which are numbered below. A step before an access: the
 * memory is protected then, so that what is read twice can be different the second time.
 *
 * The replay goes on or gives up within its time, says why in printable text, and loses no memory
 * of the GPU. There is no process, no thread and no real time.
 */
#include "emu/hsa/sandbox/sandbox.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

#define SLICE_OF_WAIT 100000000u
#define TRAP_FLAG     0x100
#define STEP_SIZE     12u
#define STEPS_MAX     200u
#define COMMANDS_MAX  16u
#define AT_FUTEX      32u /* `when`: below, before so many accesses */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum what { WRITE_8, WRITE_32, WRITE_64, STATE, ANSWER, TEXT, FAULT, END, TIME, WHAT_COUNT };

static struct {
    struct tsm_view steps;
    struct sandbox_control *control; /* the enemy's own view of it */
    uint64_t now_ns;
    unsigned steps_done, accesses;
    bool is_armed, ends;
} enemy;

static uint64_t enemy_clock(void)
{
    return enemy.now_ns;
}

static long enemy_syscall(long number, ...);

/* The system calls and the clock of the two files are the enemy's. */
#define syscall          enemy_syscall
#define tsm_monotonic_ns enemy_clock
#include "emu/hsa/sandbox/process.c"
#include "emu/hsa/sandbox/sandbox.c"
#undef syscall

/* ---- steps -------------------------------------------------------------------------------------
 */

static void write_at(size_t where, const void *value, size_t size)
{
    where %= sizeof(*enemy.control) - size;
    memcpy((uint8_t *)enemy.control + where, value, size);
}

static void write_step(enum what what, unsigned where, uint64_t value)
{
    struct sandbox_slot *slot = &enemy.control->slots[where % SANDBOX_SLOT_COUNT];

    if (what <= WRITE_64) {
        write_at(where, &value, what == WRITE_8 ? 1 : what == WRITE_32 ? 4 : 8);
    } else if (what == STATE) {
        slot->state = (uint32_t)value;
    } else if (what == ANSWER) {
        slot->result = (uint32_t)value;
        slot->state = SANDBOX_DONE;
    } else if (what == TEXT) {
        memset(slot->text, (int)value, sizeof(slot->text));
    } else if (what == FAULT) {
        enemy.control->slot = where;
        enemy.control->signal = (uint32_t)value;
        enemy.control->system_call = (uint32_t)(value >> 32);
    }
}

/* Tests whether the next step is one of this kind of moment. */
static bool is_due(bool at_futex)
{
    const uint8_t *next = enemy.steps.at;

    if ((size_t)(enemy.steps.end - next) < STEP_SIZE || enemy.steps_done >= STEPS_MAX)
        return false;
    return at_futex ? next[0] >= AT_FUTEX : next[0] < AT_FUTEX;
}

static void take_step(void)
{
    const uint8_t *step = tsm_view_take(&enemy.steps, STEP_SIZE);
    enum what what = step[1] % WHAT_COUNT;
    uint64_t value = tsm_get_u64(step + 4);

    enemy.steps_done++;
    enemy.accesses = 0;
    if (what == END)
        enemy.ends = true;
    else if (what == TIME)
        enemy.now_ns += value % (3 * DEFAULT_NS);
    else
        write_step(what, tsm_get_u16(step + 2), value);
}

static void protect(int protection)
{
    if (mprotect(sandbox.control, sizeof(*sandbox.control), protection) != 0)
        abort();
}

/* Has the next access fault if a step comes before it. */
static void arm(void)
{
    enemy.is_armed = is_due(false);
    protect(enemy.is_armed ? PROT_NONE : PROT_READ | PROT_WRITE);
}

static struct sigaction before; /* of SIGSEGV */

/* An access: it is made with the memory there, and the trap behind it hides the memory again. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)sandbox.control;

    if (!enemy.is_armed || at >= sizeof(*sandbox.control)) {
        sigaction(SIGSEGV, &before, NULL);
        return;
    }
    protect(PROT_READ | PROT_WRITE);
    while (is_due(false) && enemy.accesses >= enemy.steps.at[0])
        take_step();
    enemy.accesses++;
    registers[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    arm();
}

/* Only futexes are waited for and woken: the enemy's turn. */
static long enemy_syscall(long number, ...)
{
    protect(PROT_READ | PROT_WRITE);
    if (is_due(true))
        take_step();
    enemy.now_ns += SLICE_OF_WAIT;
    arm();
    if (enemy.ends && !sandbox.is_over) {
        enemy.ends = false;
        declare_over(0);
    }
    return 0;
}

/* ---- the replay --------------------------------------------------------------------------------
 */

uint64_t emu_hsa_window_map(uint64_t size)
{
    void *got = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return got == MAP_FAILED ? 0 : (uintptr_t)got;
}

/* Makes the file that both have, with the enemy's view of it, and catches accesses to the other. */
static int set_up(void)
{
    const struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int file = memfd_create("control", MFD_CLOEXEC);

    if (file < 0 || ftruncate(file, sizeof(*enemy.control)) != 0)
        abort();
    enemy.control = mmap(NULL, sizeof(*enemy.control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (enemy.control == MAP_FAILED || sigaction(SIGSEGV, &fault, &before) != 0 ||
        sigaction(SIGTRAP, &trap, NULL) != 0)
        abort();
    return file;
}

/* The process runs, as far as the replay can tell. */
static void begin(const uint8_t *steps, size_t size)
{
    static int file = -1;

    if (file < 0)
        file = set_up();
    memset(enemy.control, 0, sizeof(*enemy.control));
    sandbox.control =
        mmap(NULL, sizeof(*enemy.control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (sandbox.control == MAP_FAILED)
        abort();
    memset(sandbox.names, 0, sizeof(sandbox.names));
    sandbox.is_started = sandbox.is_ready = true;
    enemy.steps = tsm_view_init(steps, size);
    enemy.steps_done = enemy.accesses = 0;
    enemy.ends = false;
    tracesmith_hsa_sandbox(0);
    arm();
}

static void command(uint8_t which, uint8_t *place)
{
    static const uint8_t code[100] = {1};
    struct emu_hsa_remote_kernel *kernel = calloc(1, sizeof(*kernel) + 8);
    const struct emu_hsa_remote_grid grid = {.grid_size = {1, 1, 1}, .group_size = {1, 1, 1}};
    uint64_t base = 0, image_size = 3 * PAGE;

    strcpy(kernel->name, "kernel");
    switch (which % 7) {
    case 0:
        if (emu_hsa_sandbox_load(code, sizeof(code), &base, &image_size))
            emu_hsa_sandbox_unload(base, image_size);
        break;
    case 1:
        emu_hsa_sandbox_run(kernel, &grid);
        break;
    case 2:
        emu_hsa_sandbox_perform((const uint8_t[64]){0});
        break;
    case 3:
        emu_hsa_sandbox_back((uintptr_t)place + which / 7 % 8 * PAGE, PAGE * (1 + which % 4));
        break;
    case 4:
        emu_hsa_sandbox_drop((uintptr_t)place + which / 7 % 8 * PAGE, PAGE * (1 + which % 3));
        break;
    case 5:
        emu_hsa_sandbox_constant_free(emu_hsa_sandbox_constant(40));
        break;
    default:
        emu_hsa_sandbox_show((uintptr_t)place + which / 7 % 8 * PAGE, PAGE, 0, PROT_READ);
    }
    free(kernel);
}

/* ---- what has to hold --------------------------------------------------------------------------
 */

static void check_views(void)
{
    for (size_t i = 1; i < shared.view_count; i++)
        if (shared.views[i - 1].address + shared.views[i - 1].size > shared.views[i].address)
            abort();
}

static void check_why(void)
{
    char why[WHY_SIZE];

    tracesmith_hsa_sandbox_why(why, sizeof(why));
    for (size_t i = 0; why[i]; i++)
        if (why[i] < ' ' || why[i] > '~')
            abort();
}

static void end(void)
{
    enemy.is_armed = false;
    protect(PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < shared.view_count; i++)
        if (shared.views[i].file == SANDBOX_CONSTANTS)
            munmap(pointer(shared.views[i].address), shared.views[i].size);
    emu_hsa_sandbox_end();
    shared.constants_end = 0;
    if (shared.constants && ftruncate(shared.constants, 0) != 0)
        abort();
    if (shared.arena_end || shared.hole_count)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *place;
    size_t count = size ? data[0] % (COMMANDS_MAX + 1) : 0;

    if (!place)
        place = (uint8_t *)(uintptr_t)emu_hsa_window_map(16 * PAGE);
    if (size < 1 + count)
        return 0;
    begin(data + 1 + count, size - 1 - count);
    for (size_t i = 0; i < count; i++) {
        command(data[1 + i], place);
        check_views();
        check_why();
    }
    end();
    return 0;
}
