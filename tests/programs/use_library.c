/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that has only what is installed: it replays TRACE on the software GPU (in LIBRARY), and
 * compares TRACE with itself.
 */
#include <stdio.h>

#include <tracesmith/analysis.h>
#include <tracesmith/replay.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, tsm_error_message());
    return 3;
}

int main(int argc, char **argv)
{
    struct tsm_replay_options options = {.device = "emu", .library = argc > 2 ? argv[2] : NULL};
    struct tsm_replay_result replayed;
    struct tsm_diff_result compared;
    struct tsm_replay *replay = NULL;
    struct sbt_reader *reader = NULL;

    if (argc < 2 || sbt_reader_open(&reader, argv[1]) < 0)
        return fail("open");
    if (tsm_diff(&compared, reader, reader, NULL) < 0)
        return fail("diff");
    if (tsm_replay_create(&replay, reader, &options) < 0 || tsm_replay_run(replay, &replayed) < 0)
        return fail("replay");
    printf("diff %d, replay %d, %llu checksums\n", compared.verdict, replayed.verdict,
           (unsigned long long)replayed.checksum_count);
    tsm_replay_destroy(replay);
    sbt_reader_destroy(reader);
    return 0;
}
