/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of the device that launches and occupancy are checked against. Bytes and counts; the same
 * for every device, and known after cuInit().
 */
#ifndef EMU_DEVICE_H
#define EMU_DEVICE_H

#include "emu/cuda/core/abi.h"

#define EMU_DECOMPRESS_MAX (4 << 20) /* bytes of a piece that the device unpacks */
#define EMU_MULTIPROCESSORS 16
#define EMU_REGISTERS       65536u /* of a multiprocessor */
#define EMU_SHARED_DEFAULT  49152  /* a block's limit without asking for more */

int emu_device_shared_per_block(void); /* the most that can be asked for */
int emu_device_shared_per_multiprocessor(void);
int emu_device_shared_reserved(void); /* of each block, by the system */
int emu_device_threads_per_multiprocessor(void);
int emu_device_blocks_per_multiprocessor(void);

/* 0 for what the device does not have. */
int emu_device_attribute(CUdevice_attribute attribute, CUdevice device);

#endif
