/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies beyond the memory that was locked, as a hostile trace could have them: the program's
 * buffer goes on there, the replay's does not.
 */
#include "tests/hsa/hsa_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define SIZE (64u * PAGE)

static void copy_box(const struct hsa_machine *machine, void *to, void *from)
{
    const hsa_pitched_ptr_t dst = {to, PAGE, SIZE}, src = {from, PAGE, SIZE};
    const hsa_dim3_t none = {0, 0, 0}, range = {PAGE, 64, 1};
    hsa_signal_t done = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_memory_async_copy_rect(&dst, &none, &src, &none, &range, machine->gpu,
                                             hsaDeviceToHost, 0, NULL, done));
    hsa_await(done);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct hsa_machine machine;
    void *host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *locked, *device;

    memset(host, 1, SIZE);
    hsa_machine_find(&machine);
    device = hsa_pool_take(machine.device, SIZE);
    HSA_CHECK(hsa_amd_memory_lock(host, PAGE, NULL, 0, &locked));
    if (!strcmp(how, "to"))
        HSA_CHECK(hsa_memory_copy(host, device, SIZE));
    else if (!strcmp(how, "from"))
        HSA_CHECK(hsa_memory_copy(device, host, SIZE));
    else if (!strcmp(how, "async_to"))
        hsa_copy(&machine, host, machine.cpu, device, machine.gpu, SIZE);
    else if (!strcmp(how, "async_from"))
        hsa_copy(&machine, device, machine.gpu, host, machine.cpu, SIZE);
    else if (!strcmp(how, "box_to"))
        copy_box(&machine, host, device);
    else if (!strcmp(how, "box_from"))
        copy_box(&machine, device, host);
    else if (!strcmp(how, "fill"))
        HSA_CHECK(hsa_amd_memory_fill(host, 1, SIZE / 4));
    else
        return 2;
    puts("done");
    return 0;
}
