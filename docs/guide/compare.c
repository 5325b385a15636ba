/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares two traces, and names the first command that differs. The exit status is the verdict.
 */
#include <inttypes.h>
#include <stdio.h>

#include <tracesmith/tracesmith.h>

static void print_result(const struct tsm_diff_result *r)
{
    if (r->verdict == TSM_DIFFERENT)
        printf("different: record %" PRIu64 ", record %" PRIu64 ", %s: %s is %s, %s\n", r->seq_a,
               r->seq_b, r->first.call, r->field, r->value_a, r->value_b);
    else
        printf("%s: %" PRIu64 " compared%s%s\n", r->verdict == TSM_SAME ? "same" : "cannot tell",
               r->compared_count, r->why[0] ? ": " : "", r->why);
}

int main(int argc, char **argv)
{
    struct sbt_reader *a = NULL, *b = NULL;
    struct tsm_diff_result result;
    int error = argc == 3 ? 0 : tsm_fail(TSM_E_ARGUMENT, "which traces?");

    if (!error)
        error = sbt_reader_open(&a, argv[1]);
    if (!error)
        error = sbt_reader_open(&b, argv[2]);
    if (!error)
        error = tsm_diff(&result, a, b, NULL);
    if (!error)
        print_result(&result); /* its texts live as long as the readers */
    else
        fprintf(stderr, "compare: %s\n", tsm_error_message());
    sbt_reader_destroy(a);
    sbt_reader_destroy(b);
    return error ? 2 : (int)result.verdict;
}
