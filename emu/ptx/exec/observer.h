/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets somebody look on while a launch runs: the checks of memory and the profile (emu/ptx/check/)
 * see accesses, calls and barriers through this. A launch without an observer pays one test of a
 * pointer for each access of a warp.
 */
#ifndef EMU_PTX_EXEC_OBSERVER_H
#define EMU_PTX_EXEC_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

struct ptx_block;
struct ptx_cluster;
struct ptx_insn;
struct ptx_warp;

/* All are mandatory, and called from the launch's thread. */
struct ptx_observer {
    /* Sees `size` bytes at host[lane] for every lane of `lanes`, before the instruction accesses
     * them. */
    void (*access)(struct ptx_warp *warp, const struct ptx_insn *insn, uint32_t lanes,
                   unsigned size, bool write, uint8_t *const *host);
    /* Sees `size` bytes that are about to be read or written by something that is not one lane's
     * load or store. */
    void (*bulk)(struct ptx_warp *warp, const uint8_t *host, uint64_t size, bool write);
    /* Sees the bytes of an image that the launch has just found: it may read them, or write them,
     * too. */
    void (*image)(struct ptx_warp *warp, const uint8_t *host, uint64_t size, bool may_write);
    /* Sees that a function was entered: its local frame is fresh. */
    void (*enter)(struct ptx_warp *warp);
    /* Sees an argument or a result that was put into the local memory of a lane. */
    void (*pass)(struct ptx_warp *warp, const uint8_t *host, uint32_t size);
    /* Sees a barrier that opens; it knows who arrived. */
    void (*barrier)(struct ptx_block *block, unsigned id);
    /* Sees that the cluster's barrier opens; then barrier() is called for each block of it. */
    void (*cluster_barrier)(struct ptx_cluster *cluster);
    /* Frees what the observer keeps with a cluster and its blocks, which have ended. */
    void (*cluster_end)(struct ptx_cluster *cluster);
};

#endif
