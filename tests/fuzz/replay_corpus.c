/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over files without libFuzzer: `replay_corpus FOLDER [THREADS]`. A crash or a
 * sanitizer's report is the failure; an empty folder is one too. With THREADS each file is run 40
 * times, and no more threads may be left.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 20)
#define TIMES     40 /* with THREADS */
#define SLICES    3000u

static int times = 1;

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
    for (int i = 0; i < times; i++)
        LLVMFuzzerTestOneInput(space, size);
    return 0;
}

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = -2; /* . and .. */

    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Threads that were told to end take their time: 30 s, which only a failure waits for. */
static int has_more_threads(int most)
{
    for (unsigned i = 0; i < SLICES && count_threads() > most; i++)
        usleep(10000);
    if (count_threads() <= most)
        return 0;
    fprintf(stderr, "%d threads are left, not %d\n", count_threads(), most);
    return 1;
}

int main(int argc, char **argv)
{
    uint8_t *space = malloc(INPUT_MAX);
    DIR *folder = argc == 2 || argc == 3 ? opendir(argv[1]) : NULL;
    int count = 0, failed = 0;
    struct dirent *entry;
    char path[4096];

    setenv("TS_EMU_TIMEOUT", "10", 0); /* fuzz_replay_cuda.c's own limit is for a quiet machine */
    if (!space || !folder) {
        fprintf(stderr, "usage: replay_corpus FOLDER [THREADS]\n");
        free(space);
        return 2;
    }
    times = argc == 3 ? TIMES : 1;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        failed += run_file(path, space);
        count++;
    }
    closedir(folder);
    free(space);
    if (argc == 3)
        failed += has_more_threads(atoi(argv[2]));
    return failed || count == 0;
}
