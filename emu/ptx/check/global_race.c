/* SPDX-License-Identifier: Apache-2.0
 *
 * Races in global memory between blocks of one launch: two blocks touch the same bytes, one writes,
 * and no volatile or atomic access of both, after the first and before the second, may have ordered
 * them. A word remembers its last writer and its last reader only, so races may be missed.
 */
#include "emu/ptx/check/watching.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/module.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define ADDRESS_BITS 47
#define PIECE_BITS   24 /* bytes of memory that a piece of cells is for */
#define PIECE_COUNT  (1ull << (ADDRESS_BITS - PIECE_BITS))
#define STRONG_COUNT 65536u

/* The last access of a kind to a word of four bytes. */
struct access {
    const struct ptx_insn *insn;
    uint64_t sequence; /* over the whole process */
    uint32_t launch;
    uint32_t block; /* linear, cut to 32 bits: a grid of more blocks does not end here */
    uint16_t thread;
    uint8_t bytes; /* of the word, a bit each */
    bool is_strong;
};

struct cell {
    struct access write;
    struct access read;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cell **pieces;
static uint64_t sequence;
/* When a block last did something strong, by launch and block; collisions hide races. */
static uint64_t strong[STRONG_COUNT];

static void *map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static struct cell *cell_at(uint64_t address)
{
    uint64_t index = address >> PIECE_BITS;

    if (index >= PIECE_COUNT)
        return NULL;
    if (!pieces)
        pieces = map(PIECE_COUNT * sizeof(*pieces));
    if (pieces && !pieces[index])
        pieces[index] = map((sizeof(struct cell) << PIECE_BITS) / 4);
    return pieces && pieces[index] ? &pieces[index][(address & ((1ull << PIECE_BITS) - 1)) / 4]
                                   : NULL;
}

static uint64_t *strong_of(uint32_t launch, uint32_t block)
{
    return &strong[(launch * 2654435761u + block) % STRONG_COUNT];
}

static bool collides(const struct access *earlier, const struct access *now)
{
    if (earlier->launch != now->launch || earlier->block == now->block ||
        !(earlier->bytes & now->bytes) || (earlier->is_strong && now->is_strong))
        return false;
    return *strong_of(earlier->launch, earlier->block) <= earlier->sequence ||
           *strong_of(now->launch, now->block) <= earlier->sequence;
}

static const char *function_of(const struct ptx_module *m, const struct ptx_insn *i)
{
    for (size_t k = 0; k < m->codes.count; k++) {
        const struct ptx_code *code = ptx_code_at(m, k);
        if (ptx_code_holds(code, i))
            return code->info.name;
    }
    return "?";
}

static void report(const struct ptx_touch *t, const struct access *earlier, bool earlier_writes,
                   uint64_t address)
{
    const struct ptx_launch *launch = t->warp->run->launch;
    struct ptx_finding f = {
        .check = PTX_CHECK_BLOCKS, .space = "global", .address = address, .bad = 1};
    uint32_t thread = earlier->thread;
    uint32_t block = earlier->block;

    f.has_other = true;
    f.other.block[0] = block % launch->grid[0];
    f.other.block[1] = block / launch->grid[0] % launch->grid[1];
    f.other.block[2] = block / launch->grid[0] / launch->grid[1];
    f.other.thread[0] = thread % launch->block[0];
    f.other.thread[1] = thread / launch->block[0] % launch->block[1];
    f.other.thread[2] = thread / launch->block[0] / launch->block[1];
    f.other.depth = 1;
    f.other.stack[0] = (struct ptx_level){.function = function_of(launch->module, earlier->insn),
                                          .line = earlier->insn->line};
    f.other_access = ptx_access_of(earlier->insn, earlier_writes);
    ptx_watch_found(t, &f);
}

static void merge(struct access *kept, const struct access *now)
{
    uint8_t bytes = kept->launch == now->launch && kept->block == now->block ? kept->bytes : 0;

    *kept = *now;
    kept->bytes |= bytes;
}

/* Copies what collides into *bad; lock held, for launches of other streams work here, too. */
static bool touch_word(const struct ptx_touch *t, uint64_t address, const struct access *now,
                       struct access *bad, bool *bad_writes)
{
    struct cell *c = cell_at(address);
    bool found = false;

    if (!c)
        return false;
    if (collides(&c->write, now)) {
        *bad = c->write;
        *bad_writes = found = true;
    } else if (t->writes && collides(&c->read, now)) {
        *bad = c->read;
        *bad_writes = false;
        found = true;
    }
    merge(t->writes ? &c->write : &c->read, now);
    return found;
}

void ptx_global_race_access(const struct ptx_touch *t, uint64_t address)
{
    struct access now = {.insn = t->insn,
                         .launch = (uint32_t)t->warp->run->grid_id,
                         .thread = (uint16_t)(t->warp->index * PTX_LANES + t->lane),
                         .is_strong = t->is_strong};
    struct access bad;
    bool bad_writes;
    bool found = false;

    now.block = (uint32_t)ptx_block_linear(t->warp->block);
    pthread_mutex_lock(&lock);
    now.sequence = ++sequence;
    if (t->is_strong)
        *strong_of(now.launch, now.block) = now.sequence;
    for (uint64_t at = address & ~3ull; at < address + t->size && !found; at += 4) {
        uint64_t first = at < address ? address - at : 0;
        uint64_t last = at + 4 > address + t->size ? address + t->size - at : 4;
        now.bytes = (uint8_t)(((1u << last) - 1) & ~((1u << first) - 1));
        found = touch_word(t, at, &now, &bad, &bad_writes);
    }
    pthread_mutex_unlock(&lock);
    if (found)
        report(t, &bad, bad_writes, address);
}

/* Their clocks move on: what came before is ordered before what each of them does now. Between
 * blocks of different clusters this hides races. */
void ptx_global_race_barrier(const struct ptx_cluster *cluster)
{
    uint32_t launch = (uint32_t)cluster->blocks[0]->warps[0]->run->grid_id;

    pthread_mutex_lock(&lock);
    sequence++;
    for (uint32_t k = 0; k < cluster->count; k++)
        *strong_of(launch, (uint32_t)ptx_block_linear(cluster->blocks[k])) = sequence;
    pthread_mutex_unlock(&lock);
}
