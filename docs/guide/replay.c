/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays TRACE on DEVICE ("emu": the software GPU), and says what came out. LIBRARY is the
 * driver's, where programs would not find it by themselves. The exit status is the verdict.
 */
#include <inttypes.h>
#include <stdio.h>

#include <tracesmith/tracesmith.h>

static void print_difference(void *user, const struct tsm_difference *d)
{
    (void)user;
    printf("record %" PRIu64 ", %s: byte %" PRIu64 " of 0x%" PRIx64 " differs\n", d->seq, d->call,
           d->offset, d->buffer);
}

int main(int argc, char **argv)
{
    struct tsm_replay_options options = {.device = argc > 2 ? argv[2] : NULL,
                                         .library = argc > 3 ? argv[3] : NULL,
                                         .on_difference = print_difference};
    struct tsm_replay_result result;
    struct tsm_replay *replay = NULL;
    struct sbt_reader *reader = NULL;
    int error = argc > 1 ? 0 : tsm_fail(TSM_E_ARGUMENT, "which trace?");

    if (!error)
        error = sbt_reader_open(&reader, argv[1]);
    if (!error)
        error = tsm_replay_create(&replay, reader, &options);
    if (!error)
        error = tsm_replay_run(replay, &result);
    if (!error)
        printf("verdict %d, %" PRIu64 " commands, %" PRIu64 " comparisons%s%s\n", result.verdict,
               result.command_count, result.checksum_count, result.why[0] ? ": " : "", result.why);
    else
        fprintf(stderr, "replay: %s\n", tsm_error_message());
    tsm_replay_destroy(replay); /* before its reader */
    sbt_reader_destroy(reader);
    return error ? 2 : (int)result.verdict;
}
