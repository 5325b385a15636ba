/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/disassemble.h"

#include "base/output_file.h"
#include "tools/text/run_tool.h"
#include "tracesmith/error.h"

#include <stdio.h>
#include <unistd.h>

static int disassemble(const uint32_t *words, size_t size, int fd)
{
    static const char *const argv[] = {"spirv-dis", "--no-color", "-", NULL};
    const int error = tsm_run_tool(argv, words, size, fd);

    if (error == TSM_E_NOT_FOUND)
        return tsm_fail(TSM_E_NOT_FOUND, "there is no spirv-dis to disassemble with; install it "
                                         "(Debian: spirv-tools), or leave out --disassemble");
    return error;
}

int tsm_disassemble(const uint32_t *words, size_t size, const char *path)
{
    struct tsm_output_file out;
    int error = path ? tsm_output_file_begin(&out, path) : 0;

    if (error)
        return error;
    error = disassemble(words, size, path ? fileno(out.file) : STDOUT_FILENO);
    if (path && tsm_output_file_end(&out, error != 0) && !error)
        error = TSM_E_IO;
    return error;
}
