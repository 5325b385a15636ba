/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_runner MODULE.ptx INPUTS THREADS TARGET [BYTES] > OUTPUTS
 *
 * Runs every entry of a module, in order, on one block of THREADS threads. Entry k gets two
 * pointers: to its part of INPUTS (THREADS times BYTES, 32 when not given) and to THREADS zeroed
 * 64-bit results, which are written out. A module that does not load: exit 2, its log on stderr.
 */
#include "emu/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;

    if (!file) {
        perror(path);
        exit(1);
    }
    *size = 0;
    do {
        text = realloc(text, *size + 65536);
        if (!text)
            exit(1);
        *size += fread(text + *size, 1, 65536, file);
    } while (!feof(file) && !ferror(file));
    fclose(file);
    return text;
}

static void *place(void *user, size_t size)
{
    return *(void **)user = calloc(1, size);
}

static void run_entry(const struct ptx_module *m, const struct ptx_function *f, const char *in,
                      uint32_t threads)
{
    uint64_t *out = calloc(threads, sizeof(*out));
    uint64_t params[2] = {(uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out};
    struct ptx_fault fault;
    struct ptx_launch l = {
        .module = m, .function = f, .grid = {1, 1, 1}, .block = {threads, 1, 1}, .params = params};

    if (!out || ptx_run(&l, &fault, NULL) != PTX_OK) {
        fprintf(stderr, "%s: %s\n", f->name, out ? fault.text : "out of memory");
        exit(3);
    }
    fwrite(out, sizeof(*out), threads, stdout);
    free(out);
}

int main(int argc, char **argv)
{
    char log_text[4096] = "";
    struct ptx_log log = {log_text, sizeof(log_text), 0};
    struct ptx_module *m;
    void *variables = NULL;
    size_t text_size;
    size_t in_size;

    if (argc < 5)
        return 1;
    size_t part = (argc > 5 ? (size_t)atoi(argv[5]) : 32) * (size_t)atoi(argv[3]);
    char *text = read_file(argv[1], &text_size);
    char *in = read_file(argv[2], &in_size);
    uint32_t threads = (uint32_t)atoi(argv[3]);
    if (ptx_module_create(&m, text, text_size, (unsigned)atoi(argv[4]), &log) != PTX_OK ||
        ptx_module_place(m, place, &variables) != PTX_OK) {
        fputs(log_text, stderr);
        return 2;
    }
    size_t at = 0;
    for (size_t k = 0; k < ptx_module_function_count(m); k++) {
        const struct ptx_function *f = ptx_module_function(m, k);
        if (!f->is_entry)
            continue;
        if (at + part > in_size)
            return 1;
        run_entry(m, f, in + at, threads);
        at += part;
    }
    ptx_module_destroy(m);
    free(variables);
    free(text);
    free(in);
    return 0;
}
