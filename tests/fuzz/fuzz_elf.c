/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of this machine as an enemy writes them: programs and scripts that a traced program is
 * about to execute, and the file of which a trace says that a stack lies in it. The names that come
 * out are printable.
 */
#include "interpose/exec_check.h"
#include "tests/fuzz/own_trace.h"
#include "tools/text/symbol.h"
#include "tracesmith/reader.h"

#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FD_IN    200
#define FD_TRACE 201
#define PATH_IN  "/proc/self/fd/200"

static void ask_symbols(struct sbt_reader *reader)
{
    struct tsm_symbols *symbols = NULL;
    char text[512];

    own_trace_must(tsm_symbols_create(&symbols, reader));
    for (uint64_t address = OWN_TRACE_START; address < OWN_TRACE_START + 0x3000; address += 0x97) {
        tsm_symbols_frame_text(symbols, address, text, sizeof(text));
        if (strnlen(text, sizeof(text)) == sizeof(text))
            abort();
    }
    tsm_symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sbt_reader *reader;
    char *argv[] = {(char[]){"program"}, NULL};
    bool is_foreign;
    int fd;

    if (!reader) {
        own_trace_write(FD_TRACE, PATH_IN);
        own_trace_must(sbt_reader_open(&reader, "/proc/self/fd/201"));
    }
    fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0700) != 0 || write(fd, data, size) != (ssize_t)size ||
        dup2(fd, FD_IN) != FD_IN)
        abort();
    close(fd);
    tsm_exec_may_succeed(PATH_IN, argv, argv + 1, &is_foreign);
    ask_symbols(reader);
    close(FD_IN);
    return 0;
}
