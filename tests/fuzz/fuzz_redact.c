/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes what copies a trace: `tracesmith redact --lossy`. Input: a byte that says what is taken
 * out (0: nothing, as `trim` copies), and a trace. What comes out keeps every rule.
 */
#include "tools/cmd_redact.c"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    fprintf(stderr, "offset %llu: %s\n", (unsigned long long)offset, text);
}

static int copy_all(struct sbt_reader *reader, const char *output)
{
    struct tsm_trace_copy copy;
    int error = tsm_trace_copy_begin(&copy, reader, output, NULL);

    if (!copy.writer)
        return error;
    if (!error)
        error = copy_records(&copy);
    error = tsm_trace_copy_end(&copy, 0, error);
    if (error)
        unlink(output);
    return error;
}

static int redact_all(struct sbt_reader *reader, const char *output, unsigned what)
{
    struct tsm_redact redact = {.reader = reader, .what = what | tsm_redacted(reader)};
    uint64_t missing;
    int error = tsm_redact_begin(&redact);

    if (!error)
        error = write_copy(&redact, output, true, &missing);
    tsm_redact_finish(&redact);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char input[32], output[64];
    struct sbt_reader *reader;
    int fd = memfd_create("fuzz", MFD_CLOEXEC), error = -1;

    if (size < 1 || fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1) {
        close(fd);
        return 0;
    }
    snprintf(input, sizeof(input), "/proc/self/fd/%d", fd);
    snprintf(output, sizeof(output), "/dev/shm/ts-fuzz-redact-%d.sbt", (int)getpid());
    if (sbt_reader_open(&reader, input) == 0) {
        error = data[0] ? redact_all(reader, output, data[0]) : copy_all(reader, output);
        sbt_reader_destroy(reader);
    }
    close(fd);
    if (error)
        return 0;
    if (sbt_check(output, print_violation, NULL) != 0) {
        unlink(output);
        abort();
    }
    unlink(output);
    return 0;
}
