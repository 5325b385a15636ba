/* SPDX-License-Identifier: Apache-2.0
 *
 * check_trace TRACE [REPEATS]: tsm_check_run() on the software GPU, one line an arm. Exit status:
 * the verdict, 3 on an error. For tests that have a recorded trace.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tracesmith/replay.h"

static void print_arm(void *user, const struct tsm_arm_result *arm)
{
    static const char *const verdicts[] = {"same", "different", "cannot tell",
                                           "nothing to compare"};
    const struct tsm_difference *d = &arm->difference;

    printf("%s: %s", tsm_arm_name(arm->arm), verdicts[arm->verdict]);
    if (arm->verdict == TSM_DIFFERENT)
        printf(": %s %s %s, offset %llu", arm->is_exact ? "exactly" : "perhaps", d->call,
               d->function, (unsigned long long)d->offset);
    printf("%s%s\n", *arm->why ? ": " : "", arm->why);
}

int main(int argc, char **argv)
{
    const struct tsm_replay_options options = {.device = "emu"};
    struct tsm_check_result result;
    struct sbt_reader *reader = NULL;

    if (argc < 2 || sbt_reader_open(&reader, argv[1]) < 0 ||
        tsm_check_run(&result, reader, &options, argc > 2 ? (unsigned)atoi(argv[2]) : 2, print_arm,
                      NULL) < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        sbt_reader_destroy(reader);
        return 4;
    }
    printf("%s\n", result.why);
    sbt_reader_destroy(reader);
    return (int)result.verdict;
}
