/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a running launch, and what instruction handlers use. Private to the engine.
 *
 * Divergence. The lanes of a warp that share a program counter are a group. A branch on which lanes
 * disagree splits its group and opens a join at the branch's immediate post-dominator; lanes that
 * get there wait in the join until the rest of them have come (or exited) and go on as one group.
 */
#ifndef EMU_PTX_EXEC_EXEC_H
#define EMU_PTX_EXEC_EXEC_H

#include "emu/ptx/exec/observer.h"
#include "emu/ptx/exec/special.h"
#include "emu/ptx/insn.h"

#define PTX_JOIN_NONE     0xffu
#define PTX_JOIN_COUNT    64
#define PTX_BAR_CLUSTER   16 /* after 16 of the program: its part of the cluster's */
#define PTX_BAR_WARPGROUP 17 /* the first of those where four warps meet: wgmma */
#define PTX_BAR_COUNT     (PTX_BAR_WARPGROUP + 8)

enum ptx_stop {
    PTX_STOP_NONE,
    PTX_STOP_SWITCH, /* this group cannot go on; others of the warp may */
    PTX_STOP_YIELD,  /* its time is over */
    PTX_STOP_FAULT,
};

enum ptx_group_state {
    PTX_GROUP_FREE,
    PTX_GROUP_READY,
    PTX_GROUP_BARRIER, /* waits for barrier `wait` */
    PTX_GROUP_SYNC,    /* waits at a .sync instruction for the lanes of `wait` */
};

/* One call of a function by some lanes. */
struct ptx_frame {
    struct ptx_frame *parent;
    const struct ptx_code *code;
    const struct ptx_insn *call; /* in the parent; execution goes on after it */
    uint32_t inside;             /* lanes that have not returned */
    uint32_t local_base;         /* of its local frame, bytes in each lane's local memory */
    uint32_t taken;              /* above the frame, by alloca */
    uint8_t *registers;
    size_t capacity; /* bytes of them */
    bool is_first;   /* belongs to the warp: stays when its lanes have left */
};

struct ptx_group {
    const struct ptx_insn *pc;
    struct ptx_frame *frame;
    uint32_t mask;
    uint32_t wait;
    uint8_t state;
    uint8_t join;
};

struct ptx_join {
    const struct ptx_insn *pc;
    struct ptx_frame *frame;
    uint32_t expected; /* 0: free */
    uint32_t arrived;
    uint8_t parent;
};

struct ptx_block;
struct ptx_run;

struct ptx_ramp;
struct ptx_plan;

struct ptx_warp {
    const struct ptx_insn *pc;
    uint32_t active; /* lanes of the running group */
    uint32_t mask;   /* of these, the lanes for which the instruction's guard holds */
    uint8_t *base[PTX_BASE_COUNT];
    uintptr_t to_step;      /* from an instruction to its step in the plan; 0: none (ramp.h) */
    struct ptx_ramp *ramps; /* the plan's slots; NULL: no plan */
    bool repeats;           /* it ran another block before */
    enum ptx_stop stop;
    uint64_t steps;      /* warp-instructions so far */
    uint64_t counted;    /* of these, already in run->instructions */
    uint64_t first_step; /* of these, before its block began */
    uint64_t slice_end;  /* when `steps` gets here, yield at the next backward branch */
    uint32_t carry;      /* CC.CF, a bit a lane */
    uint32_t polls;      /* reads in this slice that another thread may be about to change */
    uint32_t changes;    /* in this slice: stores, atomics that changed memory, reads of clocks */
    uint32_t spins;      /* slices in a row that ended by polling, with nothing else to run */
    struct ptx_frame *frame;
    uint8_t join;
    int8_t current; /* index of the running group */
    uint32_t alive; /* lanes that have not exited */
    uint32_t index; /* in the block */
    bool waits;     /* no group is ready */
    struct ptx_block *block;
    struct ptx_run *run;
    struct ptx_frame *first;        /* the kernel's own; used again by the next block */
    struct ptx_frame *spare_frames; /* left, to use again; linked by parent */
    uint32_t spare_frame_count;
    uint8_t *local;       /* 32 times run->local_stride bytes */
    uint32_t used_groups; /* a bit each: not free */
    uint64_t open_joins;  /* a bit each: lanes are expected */
    struct ptx_group groups[PTX_LANES];
    struct ptx_join joins[PTX_JOIN_COUNT];
    uint8_t specials[PTX_SPECIAL_BYTES] __attribute__((aligned(64)));
};

struct ptx_barrier {
    uint32_t expected; /* threads; 0: all of the block */
    uint32_t popc;     /* reductions so far */
    bool any;
    bool not_all;
    uint32_t arrived[32]; /* masks, one a warp */
};

struct ptx_cluster;

struct ptx_block {
    uint32_t id[3];
    uint32_t rank; /* in its cluster */
    struct ptx_cluster *cluster;
    uint32_t warp_count;
    uint32_t alive;         /* threads that have not exited */
    uint32_t open_barriers; /* a bit each: in use */
    bool polled;            /* in this round every warp that ran only looked at memory */
    struct ptx_warp **warps;
    uint8_t *shared;
    struct ptx_barrier barriers[PTX_BAR_COUNT];
    struct ptx_tensor_memory *tensor_memory; /* tensor_memory.h; NULL: none yet */
    struct ptx_block_watching *watching;     /* the observer's own; NULL: none yet */
};

struct ptx_shared_race;

/* Blocks that are resident together; one, where nothing asks for more. */
struct ptx_cluster {
    uint32_t count;
    uint32_t alive;               /* threads that have not exited */
    uint32_t next;                /* block, by rank, to have a turn */
    uint64_t order;               /* of its start in the launch */
    bool is_arrived;              /* somebody has come to its barrier */
    bool is_used;                 /* has run before */
    struct ptx_shared_race *race; /* the observer's own; NULL: nothing looks for races */
    struct ptx_cluster *spare;
    struct ptx_block *blocks[];
};

/* A stretch of memory that the driver said is accessible. */
struct ptx_extent {
    uint64_t start;
    uint64_t end;
};
#define PTX_EXTENT_COUNT 8

/* Random order in which a launch's clusters start. */
struct ptx_order {
    uint64_t stride; /* coprime to their count */
    uint64_t origin;
};

struct ptx_module;
struct ptx_bound;

struct ptx_run {
    const struct ptx_launch *launch;
    const struct ptx_code *code;
    struct ptx_fault *fault;
    bool faulted;
    uint64_t instructions; /* thread-instructions */
    uint64_t steps;        /* warp-instructions */
    uint64_t progress;     /* of these, not yet in ptx_progress() */
    uint32_t shared_static;
    uint32_t shared_size;     /* with what is reserved */
    uint32_t shared_reserved; /* where that starts, after the program's own */
    uint64_t local_stride;
    uint32_t threads;                             /* a block */
    const struct ptx_plan *plan;                  /* of the kernel; NULL: none */
    uint32_t row;                                 /* lanes of a row, a power of two: ramp.h */
    uint32_t last_column, last_row;               /* of a warp */
    uint32_t columns[PTX_LANES], rows[PTX_LANES]; /* of each lane */
    uint32_t cluster[3];                          /* blocks */
    uint32_t cluster_count;                       /* their product */
    struct ptx_order order;
    uint64_t grid_id;
    uint32_t *workspace; /* of a cooperative launch, see emu/ptx/launch/run.c; NULL */
    uint32_t extent_next[2];
    struct ptx_extent extents[2][PTX_EXTENT_COUNT]; /* for reading, for writing */
    uint64_t random;
    struct ptx_cluster *spare_clusters; /* finished, to use again */
    struct ptx_blocks *blocks; /* grid.h: shared by the launch's threads; a run is one thread's */
    struct ptx_parallel_launch *team; /* the other threads, NULL: none */
    uint64_t fault_order;             /* of the cluster that failed */
    bool is_helper;
    bool is_observed;                    /* every access to memory goes through ptx_addresses() */
    const struct ptx_observer *observer; /* NULL: nobody looks on */
    struct ptx_watching *watching;       /* the observer's own: emu/ptx/check/watching.h */
    struct ptx_bound *images;            /* of the handles met so far: emu/ptx/texture/image.c */
};

/* Returns how many lanes a mask has; mostly all. */
static inline uint32_t ptx_lane_count(uint32_t mask)
{
    return mask == 0xffffffffu ? PTX_LANES : (uint32_t)__builtin_popcount(mask);
}

/* Has the driver said that [start, end) may be accessed? False: ask it. */
static inline bool ptx_extent_find(const struct ptx_run *run, bool write, uint64_t start,
                                   uint64_t end)
{
    for (unsigned i = 0; i < PTX_EXTENT_COUNT; i++)
        if (start >= run->extents[write][i].start && end <= run->extents[write][i].end)
            return true;
    return false;
}

/* The number that a family of handlers keeps in its flags. */
#define PTX_MODE(insn) ((insn)->flags >> PTX_F_MODE_SHIFT & 0xff)

static inline void *ptx_lanes(const struct ptx_warp *warp, ptx_op op)
{
    return warp->base[op & PTX_OP_BASE_MASK] + (op & ~(PTX_OP_UNIT - 1));
}

static inline uint32_t ptx_pred(const struct ptx_warp *warp, ptx_op op)
{
    uint32_t bits = *(const uint32_t *)ptx_lanes(warp, op);

    return op & PTX_OP_NOT ? ~bits : bits;
}

/* Set the active lanes' bits of a predicate. */
static inline void ptx_set_pred(struct ptx_warp *warp, ptx_op op, uint32_t bits)
{
    if (op == PTX_OP_NONE)
        return;
    uint32_t *p = ptx_lanes(warp, op);
    *p = (*p & ~warp->mask) | (bits & warp->mask);
}

#ifdef __clang__
#define PTX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PTX_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Run a statement for every lane `l` of the mask. A whole warp is the common case and becomes
 * vector code: registers either are the same array or do not overlap. */
#define PTX_EACH(warp, ...)                                                                        \
    do {                                                                                           \
        if ((warp)->mask == 0xffffffffu) {                                                         \
            PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++)                               \
            {                                                                                      \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t left = (warp)->mask; left; left &= left - 1) {                           \
                unsigned l = (unsigned)__builtin_ctz(left);                                        \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* fault.c: end the launch. `lane` names the thread. */
void ptx_stop_fault(struct ptx_warp *warp, const struct ptx_insn *insn, unsigned lane,
                    enum ptx_fault_kind kind, uint64_t address, uint32_t size);

/* Every warp of the block waits, or its time is over: the first thread that lives is named, and the
 * lines at which the others stand. */
void ptx_stop_standing(struct ptx_block *block, enum ptx_fault_kind kind);
/* Fills in the place of a lane that runs, or stands at, `insn` (may be NULL) in `frame`. */
void ptx_place_fill(struct ptx_place *place, const struct ptx_warp *warp,
                    const struct ptx_insn *insn, const struct ptx_frame *frame, unsigned lane);

/* emu/ptx/handlers/memory.c: host addresses of `size` bytes for every lane of the mask at the
 * instruction's address (src[0] + imm); false after a fault. */
bool ptx_addresses(struct ptx_warp *warp, const struct ptx_insn *insn, unsigned size, bool write,
                   uint8_t **out);
/* One lane's; NULL after a fault. */
uint8_t *ptx_resolve(struct ptx_warp *warp, const struct ptx_insn *insn, unsigned lane,
                     enum ptx_space space, uint64_t address, unsigned size, bool write);

/* group.c: the groups of a warp. */
void ptx_warp_switch(struct ptx_warp *warp); /* the running group is gone or parked: take another */
void ptx_warp_park(struct ptx_warp *warp, enum ptx_group_state state, uint32_t wait);
void ptx_warp_count(struct ptx_warp *warp); /* before `active` changes */
void ptx_warp_set_frame(struct ptx_warp *warp, struct ptx_frame *frame);
/* Only `lanes` go on in the running group; the others stand ready at `pc`. All meet at `rejoin`. */
void ptx_warp_split(struct ptx_warp *warp, uint32_t lanes, const struct ptx_insn *pc,
                    const struct ptx_insn *rejoin);
/* Meet at this instruction; false: the group waits and another runs, or the warp stops. */
bool ptx_warp_join(struct ptx_warp *warp, const struct ptx_insn *insn);
/* Lets lanes exit. ptx_barrier_check() is to follow: a barrier may have waited for them alone. */
void ptx_warp_exit(struct ptx_warp *warp, uint32_t lanes);
/* Time is over: the running group stays ready, after the others. */
void ptx_warp_yield(struct ptx_warp *warp);
/* Continue where the warp stopped; false when no group is ready. */
bool ptx_warp_resume(struct ptx_warp *warp);
/* At a .sync instruction: the lanes to run it for, 0 when the group has to wait for others. Lanes
 * may name different members, as the halves of a warp do that are tiles of their own. *others: a
 * bit for each group that has come to another instruction like this one, or to this one in another
 * call: it is to be run for them, too, and they stand behind it already. */
uint32_t ptx_warp_gather(struct ptx_warp *warp, const struct ptx_insn *insn, ptx_op members,
                         uint32_t *others);
/* Returns the lanes of a group for which the instruction's guard holds. */
uint32_t ptx_group_guarded(const struct ptx_warp *warp, const struct ptx_group *group,
                           const struct ptx_insn *insn);
/* Returns the place of an operand for the lanes of a group. */
void *ptx_group_lanes(const struct ptx_warp *warp, const struct ptx_group *group, ptx_op op);
/* No group can run: lanes that wait where paths meet again go on alone, for others may wait for
 * them. Returns false if there are none. */
bool ptx_warp_let_go(struct ptx_warp *warp);
/* Returns the lanes of `run` that name the same members as its lowest lane. */
uint32_t ptx_warp_part(const struct ptx_warp *warp, ptx_op members, uint32_t run);
struct ptx_frame *ptx_frame_create(struct ptx_warp *warp, const struct ptx_code *code,
                                   const struct ptx_insn *call, uint32_t lanes);
void ptx_frame_destroy(struct ptx_warp *warp, struct ptx_frame *frame);
void ptx_spare_frames_free(struct ptx_warp *warp);

/* block.c: made and put at the start of its threads as often as needed. NULL: out of memory. */
struct ptx_block *ptx_block_create(struct ptx_run *run, struct ptx_cluster *cluster, uint32_t rank);
void ptx_block_start(struct ptx_block *block, const uint32_t id[3]);
void ptx_block_destroy(struct ptx_block *block);
/* Its number in the launch. */
uint64_t ptx_block_linear(const struct ptx_block *block);

/* cluster.c: a cluster at the start of its threads, NULL when out of memory. Destroying one
 * whose threads have all exited keeps it for the launch's next one. */
struct ptx_cluster *ptx_cluster_create(struct ptx_run *run, uint64_t linear);
/* The next one will not fail. False when out of memory. */
bool ptx_cluster_reserve(struct ptx_run *run);
void ptx_cluster_destroy(struct ptx_run *run, struct ptx_cluster *cluster);
void ptx_spare_clusters_free(struct ptx_run *run);
/* Computes the place in the grid of the block of `rank` in cluster `linear`. */
void ptx_cluster_place(const struct ptx_run *run, uint64_t linear, uint32_t rank, uint32_t id[3]);
/* Some warp of some block is ready. */
bool ptx_cluster_is_ready(const struct ptx_cluster *cluster);
/* The block of the cluster in whose shared memory the byte lies, or NULL. */
struct ptx_block *ptx_cluster_owner(const struct ptx_block *block, const uint8_t *host);
/* The address in the block of `rank`, for one in any block; generic or shared. */
uint64_t ptx_cluster_map(uint64_t address, uint32_t rank);
/* Whose block a shared or generic address of `block` means. */
uint32_t ptx_cluster_rank(const struct ptx_block *block, uint64_t address);
/* Host memory of a shared::cluster address; NULL: outside, or of a block that has exited. */
uint8_t *ptx_cluster_locate(const struct ptx_block *block, uint64_t address, uint64_t size);

#endif
