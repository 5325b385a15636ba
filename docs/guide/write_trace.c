/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a trace of an API that TraceSmith has never heard of: three launches of a kernel. All
 * tools but the replay can read it, because it describes its calls itself.
 */
#include <stdio.h>

#include <tracesmith/tracesmith.h>

#define API_MINE 100u /* numbers below are TraceSmith's */
#define LAUNCH   SBT_TYPE(API_MINE, 1)

static const struct sbt_field fields[] = {
    {"name", SBT_FIELD_STRING, SBT_ROLE_FUNCTION_NAME, ""},
    {"grid_x", SBT_FIELD_UINT, SBT_ROLE_GRID_X, ""},
};
static const struct sbt_schema launch = {.type = LAUNCH,
                                         .name = "myLaunch",
                                         .kind = SBT_KIND_COMMAND,
                                         .result_enum = "",
                                         .field_count = 2,
                                         .fields = fields};

static int write_launch(struct sbt_writer *w, uint64_t number)
{
    const uint64_t slots[] = {1, 16 << number}; /* string 1, the grid */
    const struct sbt_record record = {.seq = number,
                                      .time_ns = 1000 * number,
                                      .duration_ns = 500,
                                      .type = LAUNCH,
                                      .thread = 1,
                                      .stream = 0,
                                      .position = number + 1,
                                      .slot_count = 2,
                                      .slots = slots};

    return sbt_writer_record(w, &record);
}

int main(int argc, char **argv)
{
    const struct sbt_session session = {.id = {1, 2, 3, [6] = 0x40, [8] = 0x80},
                                        .clock = "monotonic"};
    const struct sbt_totals totals = {0}; /* nothing was lost */
    struct sbt_writer *w = NULL;
    int error = argc == 2 ? 0 : tsm_fail(TSM_E_ARGUMENT, "which file?");

    if (!error)
        error = sbt_writer_create(&w, argv[1], &session, NULL);
    /* Errors stick: the last call returns that of the first that failed. */
    if (!error) {
        sbt_writer_metadata(w, "process.name", "write_trace");
        sbt_writer_schema(w, &launch);
        sbt_writer_string(w, 1, "scale", 5);
        for (uint64_t i = 0; i < 3; i++)
            write_launch(w, i);
        error = sbt_writer_finish(w, &totals, SBT_END_FINISHED);
    }
    if (error)
        fprintf(stderr, "write_trace: %s\n", tsm_error_message());
    sbt_writer_destroy(w);
    return error ? 2 : 0;
}
