/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers of handlers that know ramps (emu/ptx/exec/ramp.h). For files that are compiled twice.
 */
#ifndef EMU_PTX_HANDLERS_RAMP_H
#define EMU_PTX_HANDLERS_RAMP_H

#include "emu/ptx/exec/ramp.h"
#include "emu/ptx/handlers/handler.h"

/* Executes an instruction by its lanes: registers that are ramps are spread. */
#define ptx_ramp_run_spread PTX_TABLE(ptx_ramp_run_spread)
void ptx_ramp_run_spread(struct ptx_warp *w, const struct ptx_insn *i);

/* Writes a ramp's lanes into the frame. */
#define ptx_ramp_spread PTX_TABLE(ptx_ramp_spread)
void ptx_ramp_spread(const struct ptx_warp *w, struct ptx_ramp *r);

/* All living lanes execute it, so that a register may become a ramp. */
static inline bool ptx_ramp_is_whole(const struct ptx_warp *w)
{
    return w->mask == w->alive;
}

static inline bool ptx_ramp_is_same(const struct ptx_ramp *r)
{
    return (r->x | r->y) == 0;
}

static inline void ptx_ramp_set(struct ptx_ramp *r, uint64_t base, int64_t x, int64_t y)
{
    r->base = base;
    r->x = x;
    r->y = y;
    r->state = PTX_RAMP_KNOWN;
}

/* How far the lanes are from lane 0, at most: *low <= 0 <= *high. False, and 0: too far to be added
 * to an address. */
static inline bool ptx_ramp_reach(const struct ptx_warp *w, const struct ptx_ramp *r, int64_t *low,
                                  int64_t *high)
{
    const uint64_t far = 1ull << 48;

    *low = *high = 0;
    if (((uint64_t)r->x + far) >> 49 || ((uint64_t)r->y + far) >> 49)
        return false;
    int64_t across = r->x * (int64_t)w->run->last_column;
    int64_t down = r->y * (int64_t)w->run->last_row;
    *low = (across < 0 ? across : 0) + (down < 0 ? down : 0);
    *high = (across > 0 ? across : 0) + (down > 0 ? down : 0);
    return true;
}

#endif
