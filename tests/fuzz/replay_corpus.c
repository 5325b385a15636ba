/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over files without libFuzzer: `replay_corpus FOLDER`. A crash or a sanitizer's
 * report is the failure; an empty folder is one too.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 20)

static int run_file(const char *path, uint8_t *space)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file) {
        perror(path);
        return 1;
    }
    size = fread(space, 1, INPUT_MAX, file);
    fclose(file);
    fprintf(stderr, "%s\n", path); /* whoever crashes is the last one named */
    LLVMFuzzerTestOneInput(space, size);
    return 0;
}

int main(int argc, char **argv)
{
    uint8_t *space = malloc(INPUT_MAX);
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int count = 0, failed = 0;
    struct dirent *entry;
    char path[4096];

    setenv("TS_EMU_TIMEOUT", "10", 0); /* fuzz_replay_cuda.c's own limit is for a quiet machine */
    if (!space || !folder) {
        fprintf(stderr, "usage: replay_corpus FOLDER\n");
        free(space);
        return 2;
    }
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        failed += run_file(path, space);
        count++;
    }
    closedir(folder);
    free(space);
    return failed || count == 0;
}
