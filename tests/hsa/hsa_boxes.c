/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of boxes between pitched memory, to the GPU, on it, and back, each waiting for the one
 * before.
 */
#include "tests/hsa/hsa_helper.h"

#include <stdio.h>

#define SIDE 64u /* bytes of a row; rows of a plane */
#define SIZE (SIDE * SIDE * 4u)

static hsa_signal_t box(const struct hsa_machine *machine, void *dst, void *src, size_t pitch,
                        hsa_amd_copy_direction_t direction, const hsa_signal_t *after)
{
    const hsa_pitched_ptr_t to = {dst, SIDE, (size_t)SIDE * SIDE};
    const hsa_pitched_ptr_t from = {src, pitch, pitch * SIDE};
    const hsa_dim3_t to_offset = {8, 2, 1}, from_offset = {4, 1, 0}, range = {32, 20, 3};
    hsa_signal_t done = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_memory_async_copy_rect(&to, &to_offset, &from, &from_offset, &range,
                                             machine->gpu, direction, after ? 1 : 0, after, done));
    return done;
}

int main(void)
{
    struct hsa_machine machine;
    uint8_t *in, *out, *left, *right;
    hsa_signal_t sent, moved, back;
    unsigned bad = 0;

    hsa_machine_find(&machine);
    in = hsa_pool_take(machine.fine, SIZE);
    out = hsa_pool_take(machine.fine, SIZE);
    left = hsa_pool_take(machine.device, SIZE);
    right = hsa_pool_take(machine.device, SIZE);
    for (unsigned i = 0; i < SIZE; i++)
        in[i] = (uint8_t)(i * 7 + i / 256);
    HSA_CHECK(hsa_amd_memory_fill(left, 0, SIZE / 4));
    HSA_CHECK(hsa_amd_memory_fill(right, 0x11111111, SIZE / 4));
    sent = box(&machine, left, in, SIDE, hsaHostToDevice, NULL);
    moved = box(&machine, right, left, SIDE, hsaDeviceToDevice, &sent);
    back = box(&machine, out, right, SIDE, hsaDeviceToHost, &moved);
    hsa_await(back);
    /* Each time 4 bytes, a row and a plane further. */
    for (unsigned x = 16; x < 32; x++)
        bad += out[SIDE * SIDE * 3 + SIDE * 8 + x] != in[SIDE * 5 + x - 12];
    printf(bad ? "wrong: %u\n" : "right\n", bad);
    return bad != 0;
}
