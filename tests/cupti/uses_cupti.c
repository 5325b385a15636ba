/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that opens libcupti itself, at the path that it is given, and subscribes: "before" its
 * first GPU call, or "after" some work. Says what CUPTI answered.
 */
#include <dlfcn.h>

#include "api/cuda/abi_cupti.h"
#include "tests/programs/program.h"

static uint32_t record_count;

static void requested(uint8_t **buffer, size_t *size, size_t *record_max)
{
    *size = 4096;
    *buffer = malloc(*size);
    *record_max = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid_size)
{
    record_count += valid_size != 0;
    free(buffer);
}

static void called_back(void *user, int domain, uint32_t call, const void *data) {}

static void use_cupti(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *subscriber;
    int (*subscribe)(void **, tsm_cupti_callback, void *);
    int (*register_both)(tsm_cupti_requested, tsm_cupti_completed);

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    subscribe = (int (*)(void **, tsm_cupti_callback, void *))dlsym(library, "cuptiSubscribe");
    register_both = (int (*)(tsm_cupti_requested, tsm_cupti_completed))dlsym(
        library, "cuptiActivityRegisterCallbacks");
    printf("subscribe: %d\n", subscribe(&subscriber, called_back, NULL));
    printf("register: %d\n", register_both(requested, completed));
}

static void work(CUdeviceptr memory)
{
    for (uint8_t i = 0; i < 20; i++)
        CU(cuMemsetD8Async(memory, i, 4096, NULL));
    CU(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    const int is_before = argc > 2 && strcmp(argv[2], "before") == 0;
    CUcontext context;
    CUmodule module;
    CUdeviceptr memory;

    if (is_before)
        use_cupti(argv[1]);
    module = program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 4096));
    work(memory);
    if (!is_before)
        use_cupti(argv[1]);
    work(memory);
    printf("%u buffers of records\n", record_count);
    program_end(module, context);
    return 0;
}
