/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a replay: memory at the address in TEST_OCCUPIED, so that nothing else can be
 * there.
 */
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void occupy(void)
{
    const char *text = getenv("TEST_OCCUPIED");
    unsigned long long address = text ? strtoull(text, NULL, 16) : 0;
    void *wanted = (void *)(size_t)address; /* NOLINT: an address in a text */

    if (address && mmap(wanted, 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted)
        abort();
}
