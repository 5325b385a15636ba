/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes `tracesmith trim --lossy` of a range from the first record on, which takes no replay.
 * Input: a byte that says how many records, and a trace. What comes out keeps every rule.
 */
#include "tools/cmd/trim.c"

#include "tests/fuzz/memory_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The program starts itself again there, with addresses that do not move. */
void tsm_aslr_disable(void) {}

static int trim_all(struct sbt_reader *reader, const struct trim_values *values)
{
    static uint8_t bytes[ITEM_SIZE + SBT_BLOB_ENCODED_MAX(ITEM_SIZE)]; /* long to map each time */
    struct trim t = {.values = values, .reader = reader, .bytes = bytes};
    int error = trim(&t);

    for (int i = 0; i < t.replay_count; i++)
        tsm_replay_destroy(t.replays[i]);
    tsm_trim_slice_finish(&t.keep);
    tsm_map_finish(&t.positions);
    tsm_map_finish(&t.before);
    tsm_place_list_finish(&t.places);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct trim_values values = {.lossy = true, .library = "/nowhere", .timeout_s = 1};
    struct memory_trace trace = {(uint8_t *)data + 1, size - 1};
    struct sbt_reader *reader = size ? memory_trace_open(&trace) : NULL;
    char output[64];
    int error = -1;

    if (!reader)
        return 0;
    copied_trace_path(output);
    values.output = output;
    values.whole = data[0] & 128;
    values.range.seq_end = data[0] & 127;
    if (sbt_reader_checkpoint_count(reader) == 0)
        error = trim_all(reader, &values);
    sbt_reader_destroy(reader);
    if (!error)
        copied_trace_check(output);
    return 0;
}
