/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ptx/ptx_harness.h"
#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY_SIZE (64u << 20)

static uint8_t *memory;
static size_t memory_used;
char dev_log[4096];
unsigned dev_target = 90;
char dev_printed[65536];
struct ptx_fault dev_fault;
uint64_t dev_instructions;

void *dev_alloc(size_t size)
{
    if (!memory)
        memory = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *p = memory + memory_used;
    memory_used += (size + 511) & ~(size_t)255;
    if (memory == MAP_FAILED || memory_used > MEMORY_SIZE)
        abort();
    return p;
}

static bool is_accessible(void *user, uint64_t address, uint64_t size, bool write,
                          uint64_t *run_start, uint64_t *run_size)
{
    *run_start = (uint64_t)(uintptr_t)memory;
    *run_size = memory_used;
    return address >= *run_start && address + size <= *run_start + *run_size;
}

static void print(void *user, const char *text, size_t size)
{
    strncat(dev_printed, text, size);
}

static void *place(void *user, size_t size)
{
    return dev_alloc(size);
}

int dev_try(const char *text)
{
    struct ptx_module *module;
    struct ptx_log log = {dev_log, sizeof(dev_log), 0};
    int status = ptx_module_create(&module, text, strlen(text), dev_target, &log);

    ptx_module_destroy(module);
    return status;
}

/* With PTX_RECALL=1 every module is loaded a second time, by its record. */
static struct ptx_module *recalled(struct ptx_module *module, const char *text)
{
    struct tsm_buffer record = {0};
    struct ptx_module *again;
    const char *wanted = getenv("PTX_RECALL");

    if (!wanted || !*wanted)
        return module;
    if (ptx_module_record(module, &record) != PTX_OK ||
        ptx_module_recall(&again, text, strlen(text), dev_target, record.data, record.size) !=
            PTX_OK) {
        fprintf(stderr, "a module is not loaded by its own record\n");
        exit(1);
    }
    tsm_buffer_finish(&record);
    ptx_module_destroy(module);
    return again;
}

struct ptx_module *dev_parse(const char *text)
{
    struct ptx_module *module;
    struct ptx_log log = {dev_log, sizeof(dev_log), 0};

    int status = ptx_module_create(&module, text, strlen(text), dev_target, &log);
    if (status == PTX_OK)
        module = recalled(module, text);
    if (status != PTX_OK || ptx_module_place(module, place, NULL) != PTX_OK) {
        fprintf(stderr, "%s", dev_log);
        exit(1);
    }
    return module;
}

struct ptx_module *dev_load(const char *name)
{
    char path[512];
    const char *root = getenv("PTX_FIXTURES");
    char *text = calloc(1, 4 << 20);

    snprintf(path, sizeof(path), "%s/%s", root ? root : "tests/ptx", name);
    FILE *file = fopen(path, "r");
    if (!file || !text) {
        perror(path);
        exit(1);
    }
    size_t size = fread(text, 1, (4 << 20) - 1, file);
    text[size] = 0;
    fclose(file);
    struct ptx_module *module = dev_parse(text);
    free(text);
    return module;
}

int dev_run(struct ptx_module *module, const struct dev_launch *launch, const uint64_t *params,
            unsigned count)
{
    const struct ptx_function *f = ptx_module_find(module, launch->kernel);
    uint8_t block[4096] = {0};

    dev_printed[0] = 0;
    if (!f) {
        fprintf(stderr, "no kernel %s\n", launch->kernel);
        exit(1);
    }
    for (unsigned k = 0; k < count && k < f->param_count; k++)
        memcpy(block + f->params[k].offset, &params[k],
               f->params[k].size < 8 ? f->params[k].size : 8);
    struct ptx_launch l = {.module = module,
                           .function = f,
                           .grid = {launch->grid, launch->grid_y ? launch->grid_y : 1,
                                    launch->grid_z ? launch->grid_z : 1},
                           .block = {launch->block, 1, 1},
                           .cluster = {launch->cluster[0], launch->cluster[1], launch->cluster[2]},
                           .params = block,
                           .watch = launch->watch,
                           .dynamic_shared_size = launch->shared,
                           .schedule = launch->schedule,
                           .cooperative = launch->cooperative,
                           .seed = 7,
                           .is_accessible = is_accessible,
                           .print = print};
    int status = ptx_run(&l, &dev_fault, &dev_instructions);
    if (status != PTX_OK && getenv("PTX_VERBOSE"))
        fprintf(stderr, "%s\n", dev_fault.text);
    return status;
}
