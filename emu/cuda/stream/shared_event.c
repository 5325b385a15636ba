/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/shared_event.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/cuda/memory/page.h"
#include "emu/cuda/memory/share.h"
#include "emu/cuda/stream/stream.h"

#define MAGIC      0x30767465736d7472ull
#define RING       64u /* records that may be pending at a time */
#define STRIDE     1024u
#define CELL_COUNT 4096u

/* In the file. A number that was given is never given again, also to the next event here. */
struct state {
    _Atomic uint64_t recorded;
    _Atomic uint64_t done[RING];     /* the last complete record of those with this remainder */
    _Atomic uint32_t recorder[RING]; /* the process that must complete it */
};
_Static_assert(sizeof(struct state) <= STRIDE, "a cell is large enough");

struct emu_shared_event {
    struct state *state;
    void *mapping; /* of an imported one, else NULL */
    uint32_t slot;
    unsigned references; /* its event's, and those of commands */
};

struct handle {
    uint64_t magic;
    struct emu_share_file file;
    uint32_t slot;
};

/* State that a command needs. */
struct turn {
    struct emu_shared_event *cell;
    uint64_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static uint8_t *cells;
static bool is_taken[CELL_COUNT];

/* ---- life ---- */

static bool open_file(void)
{
    const size_t size = (size_t)CELL_COUNT * STRIDE;

    if (cells)
        return true;
    file = memfd_create("tracesmith-emu-events", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, size))
        return false;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (p == MAP_FAILED)
        return false;
    madvise(p, size, MADV_DONTFORK);
    cells = p;
    return true;
}

struct emu_shared_event *emu_shared_event_create(void)
{
    struct emu_shared_event *cell = calloc(1, sizeof(*cell));
    uint32_t slot = 0;

    pthread_mutex_lock(&lock);
    bool ok = cell && open_file();
    while (ok && slot < CELL_COUNT && is_taken[slot])
        slot++;
    ok = ok && slot < CELL_COUNT;
    if (ok) {
        is_taken[slot] = true;
        *cell = (struct emu_shared_event){
            .state = (void *)(cells + (size_t)slot * STRIDE), .slot = slot, .references = 1};
    }
    pthread_mutex_unlock(&lock);
    if (ok)
        return cell;
    free(cell);
    return NULL;
}

static void ref(struct emu_shared_event *cell)
{
    pthread_mutex_lock(&lock);
    cell->references++;
    pthread_mutex_unlock(&lock);
}

void emu_shared_event_destroy(struct emu_shared_event *cell)
{
    if (!cell)
        return;
    pthread_mutex_lock(&lock);
    bool is_last = --cell->references == 0;
    if (is_last && !cell->mapping)
        is_taken[cell->slot] = false;
    pthread_mutex_unlock(&lock);
    if (!is_last)
        return;
    if (cell->mapping)
        munmap(cell->mapping, EMU_PAGE);
    free(cell);
}

/* ---- between processes ---- */

CUresult emu_shared_event_export(CUipcEventHandle *out, const struct emu_shared_event *cell)
{
    struct handle handle = {MAGIC, emu_share_own(file), cell->slot};

    if (cell->mapping)
        return CUDA_ERROR_INVALID_HANDLE;
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

static void *map_page(const struct handle *handle)
{
    off_t at = (off_t)(handle->slot * STRIDE & ~(EMU_PAGE - 1));
    int theirs = emu_share_open(&handle->file);
    struct stat st;
    void *p = MAP_FAILED;

    if (theirs >= 0 && fstat(theirs, &st) == 0 && st.st_size >= at + (off_t)EMU_PAGE)
        p = mmap(NULL, EMU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, theirs, at);
    if (theirs >= 0)
        close(theirs);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, EMU_PAGE, MADV_DONTFORK);
    return p;
}

CUresult emu_shared_event_import(struct emu_shared_event **out, const CUipcEventHandle *in)
{
    struct handle handle;
    struct emu_shared_event *cell;

    memcpy(&handle, in, sizeof(handle));
    if (handle.magic != MAGIC || handle.slot >= CELL_COUNT)
        return CUDA_ERROR_INVALID_HANDLE;
    if (emu_share_is_own(&handle.file))
        return CUDA_ERROR_INVALID_CONTEXT;
    cell = calloc(1, sizeof(*cell));
    if (!cell)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *cell = (struct emu_shared_event){
        .mapping = map_page(&handle), .slot = handle.slot, .references = 1};
    if (!cell->mapping) {
        free(cell);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    cell->state = (void *)((uint8_t *)cell->mapping + handle.slot * STRIDE % EMU_PAGE);
    *out = cell;
    return CUDA_SUCCESS;
}

/* ---- records and waits ---- */

static bool is_done(const struct emu_shared_event *cell, uint64_t number)
{
    struct state *state = cell->state;
    uint32_t recorder = atomic_load(&state->recorder[number % RING]);

    return atomic_load(&state->done[number % RING]) >= number || !emu_share_is_alive(recorder);
}

bool emu_shared_event_is_done(struct emu_shared_event *cell)
{
    return is_done(cell, atomic_load(&cell->state->recorded));
}

static struct turn *turn_of(struct emu_command *command)
{
    return (struct turn *)(void *)command->payload;
}

static CUresult do_nothing(struct emu_command *command)
{
    (void)command;
    return CUDA_SUCCESS;
}

/* Also when the context has failed or the command was never sent: another process may wait. */
static void record_finish(struct emu_command *command)
{
    struct turn *turn = turn_of(command);
    _Atomic uint64_t *done = &turn->cell->state->done[turn->number % RING];
    uint64_t before = atomic_load(done);

    while (before < turn->number && !atomic_compare_exchange_weak(done, &before, turn->number))
        ;
    emu_shared_event_destroy(turn->cell);
}

static bool wait_is_ready(struct emu_command *command)
{
    return is_done(turn_of(command)->cell, turn_of(command)->number);
}

static void wait_finish(struct emu_command *command)
{
    emu_shared_event_destroy(turn_of(command)->cell);
}

static const struct emu_command_type record_type = {
    .run = do_nothing, .finish = record_finish, .runs_anywhere = true};
static const struct emu_command_type wait_type = {
    .run = do_nothing, .is_ready = wait_is_ready, .finish = wait_finish, .runs_anywhere = true};

static struct emu_command *create(struct emu_shared_event *cell,
                                  const struct emu_command_type *type)
{
    struct emu_command *command = emu_command_create(type, sizeof(struct turn));

    if (command) {
        ref(cell);
        turn_of(command)->cell = cell;
    }
    return command;
}

struct emu_command *emu_shared_event_record(struct emu_shared_event *cell)
{
    struct emu_command *command = create(cell, &record_type);

    if (command) {
        /* Who waits now must not take the number before it knows whose it is. */
        uint64_t number = atomic_load(&cell->state->recorded);
        do
            atomic_store(&cell->state->recorder[(number + 1) % RING], (uint32_t)getpid());
        while (!atomic_compare_exchange_weak(&cell->state->recorded, &number, number + 1));
        turn_of(command)->number = number + 1;
    }
    return command;
}

struct emu_command *emu_shared_event_wait(struct emu_shared_event *cell)
{
    struct emu_command *command = create(cell, &wait_type);

    if (command)
        turn_of(command)->number = atomic_load(&cell->state->recorded);
    return command;
}
