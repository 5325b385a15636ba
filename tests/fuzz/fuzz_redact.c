/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes what copies a trace: `tracesmith redact --lossy`. Input: a byte that says what is taken
 * out (0: nothing, as `trim` copies), and a trace. What comes out keeps every rule.
 */
#include "tools/cmd/redact.c"

#include "tests/fuzz/memory_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    struct tsm_output named;
    uint64_t missing;
    int error = tsm_output_begin(&named, output, NULL, false);

    if (redact.what & TSM_REDACT_HASHES)
        redact.what |= TSM_REDACT_CONTENTS; /* as tsm_redact_parse() has it */
    if (!error)
        error = tsm_redact_begin(&redact);
    if (!error)
        error = write_copy(&redact, &named, true, &missing);
    tsm_redact_finish(&redact);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_trace trace = {(uint8_t *)data + 1, size - 1};
    struct sbt_reader *reader = size ? memory_trace_open(&trace) : NULL;
    char output[64];
    int error;

    if (!reader)
        return 0;
    copied_trace_path(output);
    error = data[0] ? redact_all(reader, output, data[0]) : copy_all(reader, output);
    sbt_reader_destroy(reader);
    if (!error)
        copied_trace_check(output);
    return 0;
}
