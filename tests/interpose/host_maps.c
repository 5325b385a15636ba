/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints which of the libraries that could disturb a program are in it: libunwind makes every C++
 * throw slow as soon as it is loaded. Argument: before (the first call), or after.
 */
#include "tests/programs/program.h"

int main(int argc, char **argv)
{
    FILE *maps;
    char line[4096];
    int found = 0;

    if (argc > 1 && strcmp(argv[1], "after") == 0)
        CU(cuInit(0));
    maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        found += strstr(line, "libunwind") || strstr(line, "libzstd") || strstr(line, "libxxhash");
    printf("found: %d\n", found);
    return 0;
}
