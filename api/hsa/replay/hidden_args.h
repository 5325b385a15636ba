/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of a kernel that the language's runtime adds ("hidden_..." in LLVM's AMDGPU usage):
 * they speak of the dispatch, and of objects of that runtime. A replay never sends what was
 * recorded of them but where it means the same here.
 *
 * | what                                                  | here                                  |
 * |-------------------------------------------------------|---------------------------------------|
 * | global_offset_x, _y, _z                               | as recorded: the program chose them   |
 * | block_count_, group_size_, remainder_x, _y, _z;       | computed from the dispatch            |
 * | grid_dims, dynamic_lds_size                           |                                       |
 * | queue_ptr, private_base, shared_base                  | of the replay's queue                 |
 * | printf_buffer                                         | one without room: nothing is printed  |
 * | multigrid_sync_arg                                    | a small number (which says that the   |
 * |                                                       | launch is cooperative) as recorded;   |
 * |                                                       | an address: 0                         |
 * | hostcall_buffer, heap_v1, default_queue,              | 0: there is none                      |
 * | completion_action, none, and what is not known        |                                       |
 *
 * Pure: touches nothing but the bytes that it is given.
 */
#ifndef API_HSA_REPLAY_HIDDEN_ARGS_H
#define API_HSA_REPLAY_HIDDEN_ARGS_H

#include "api/hsa/code.h"

/* Values of this replay. */
struct hsa_hidden_args {
    uint32_t grid[3], group[3]; /* of the dispatch, in work-items; group: not 0 */
    uint32_t dimensions;        /* 1 to 3 */
    uint32_t dynamic_size;      /* group memory beyond what the kernel itself needs, bytes */
    uint64_t queue;             /* its address */
    uint32_t private_base, shared_base; /* high halves of addresses */
    uint64_t printf_buffer;             /* address of 8 bytes 0 or more */
};

/* Does the kernel have a hidden argument of that kind ("hidden_printf_buffer")? */
bool hsa_hidden_args_has(const struct hsa_code_kernel *kernel, const char *value_kind);

/* Make those in a kernel's argument block of `size` bytes. Returns the kind of the first that was
 * the address of an object which is missing here, NULL: none was. */
const char *hsa_hidden_args_fill(const struct hsa_code_kernel *kernel,
                                 const struct hsa_hidden_args *here, uint8_t *arguments,
                                 size_t size);

#endif
