/* SPDX-License-Identifier: Apache-2.0
 *
 * Device addresses where only the GPU sees them: in structs by value, in a linked list in device
 * memory, in a module's global; and launches in all their forms.
 */
#include "tests/programs/program.h"

enum { COUNT = 100 };

struct mix_arguments {
    char tag;
    short scale;
    CUdeviceptr data;
    long long offset;
    int n;
};

struct node {
    CUdeviceptr next;
    unsigned value, unused; /* no bytes by chance */
};

static void launch_extra(CUfunction function, void *block, size_t size)
{
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};

    CU(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
}

static void print_words(const char *name, CUdeviceptr address, int count)
{
    unsigned words[COUNT];

    CU(cuMemcpyDtoH_v2(words, address, (size_t)count * 4));
    printf("%s: %08x\n", name, program_digest(words, (size_t)count * 4));
}

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction mix_struct = program_function(module, "mix_struct"),
               sum_list = program_function(module, "sum_list"),
               read_global = program_function(module, "read_global");
    CUdeviceptr data, nodes[10], table;
    struct mix_arguments a = {.tag = 3, .scale = 5, .offset = 1ll << 33 | 9, .n = COUNT};
    unsigned char last = 77;
    unsigned words[64];
    size_t table_size;
    int count = COUNT;

    CU(cuMemAlloc_v2(&data, COUNT * 4));
    CU(cuMemsetD32_v2(data, 0xabcdef, COUNT));
    a.data = data;
    program_launch(mix_struct, COUNT, NULL, (void *[]){&a, &last});
    print_words("struct", data, COUNT);

    char block[sizeof(a) + 1];
    memcpy(block, &a, sizeof(a));
    block[sizeof(a)] = (char)last;
    launch_extra(mix_struct, block, sizeof(block));
    print_words("extra", data, COUNT);

    for (int i = 9; i >= 0; i--) {
        struct node node = {.next = i < 9 ? nodes[i + 1] : 0, .value = (unsigned)i * i};
        CU(cuMemAlloc_v2(&nodes[i], sizeof(node)));
        CU(cuMemcpyHtoD_v2(nodes[i], &node, sizeof(node)));
    }
    CU(cuLaunchKernel(sum_list, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&nodes[0], &data}, NULL));
    print_words("list", data, 1);

    CU(cuModuleGetGlobal_v2(&table, &table_size, module, "global_table"));
    for (int i = 0; i < 64; i++)
        words[i] = (unsigned)i * 1000;
    CU(cuMemcpyHtoD_v2(table, words, table_size));
    program_launch(read_global, COUNT, NULL, (void *[]){&count, &data});
    print_words("global", data, COUNT);
    for (int i = 0; i < 10; i++)
        CU(cuMemFree_v2(nodes[i]));
    CU(cuMemFree_v2(data));
    program_end(module, context);
    return 0;
}
