/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/aslr.h"
#include "tools/replay/arms.h"
#include "tools/replay/inspect_options.h"
#include "tools/replay/kernel_options.h"
#include "tools/replay/rerun_report.h"
#include "tools/replay/timed_runs.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/difference.h"
#include "tools/trace_open.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct order {
    uint64_t permute, delay; /* as in struct tsm_replay_options */
};

struct replay_values {
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
    uint64_t loop, timeout_s, check;
    int pace, grain, from;
    struct order order;
    struct tsm_inspect_values look;
    struct tsm_kernel_values kernels;
    struct tsm_timed_values timed;
    const char *device, *device_map, *library, *schedule;
    bool dry_run, keep_going, lossy, once, trust_code, validate, json;
};

static bool parse_check(void *field, const char *text)
{
    char *end;
    uint64_t count = strtoull(text, &end, 10);

    if (*end || text[0] < '1' || text[0] > '9' || count > 1000)
        return false;
    *(uint64_t *)field = count;
    return true;
}

/* recorded, permuted[:SEED], delayed[:SEED] */
static bool parse_order(void *field, const char *text)
{
    struct order *order = field;
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    char *end = NULL;
    uint64_t seed = colon ? strtoull(colon + 1, &end, 10) : 1;

    if (!seed || (colon && strlen(colon) > 20) ||
        (end && (*end || colon[1] < '0' || colon[1] > '9')))
        return false;
    order->permute = order->delay = 0;
    if (size == 8 && !strncmp(text, "permuted", size))
        order->permute = seed;
    else if (size == 7 && !strncmp(text, "delayed", size))
        order->delay = seed;
    else
        return !strcmp(text, "recorded");
    return true;
}

static const struct tsm_option options[] = {
    TSM_SELECTION_OPTIONS(replay_values, streams, range),
    {.name = "from-checkpoint",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(replay_values, from),
     .argument = "nearest|none",
     .help = "With --range: load the last checkpoint before it and go on from there, if the trace "
             "has one (tsrecord --checkpoint); or run everything that comes before the range."},
    {.name = "device",
     .letter = 'd',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(replay_values, device),
     .argument = "DEVICE",
     .help =
         "Where to: a device's number (0, 1, ...), or emu for the software GPU, which is set up "
         "as the recorded machine (TS_EMU_CC and others of docs/emu.md change that). Default: the "
         "first device that the trace fits. Vulkan: also part of its name, or its UUID, as "
         "vulkaninfo has them."},
    {.name = "gpu",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(replay_values, device),
     .argument = "DEVICE",
     .help = "The same as --device."},
    {.name = "device-map",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(replay_values, device_map),
     .argument = "RECORDED:DEVICE,...",
     .help = "CUDA: which device stands for each recorded one: 0:1,1:0 swaps two. Default: in "
             "their order, from --device on."},
    {.name = "library",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(replay_values, library),
     .argument = "FILE",
     .help = "Use this driver library instead of the one that programs find."},
    {.name = "check",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(replay_values, check),
     .argument = "COUNT",
     .absent = "3",
     .parse = parse_check,
     .help = "Is the GPU's work deterministic? Replay COUNT times in the same way, then in ways "
             "that differ in one thing each, compare the runs with each other, and name a cause."},
    {.name = "grain",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(replay_values, grain),
     .argument = "readback|sync|command",
     .help = "What is compared: bytes that the program read back; all device memory at each "
             "synchronisation, too; or after each command, too (slow)."},
    {.name = "pace",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(replay_values, pace),
     .argument = "fast|recorded|stepped",
     .help = "When commands are sent: as soon as they may be; no earlier than in the recording; or "
             "one at a time, waiting for each."},
    {.name = "order",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(replay_values, order),
     .argument = "recorded|permuted[:SEED]|delayed[:SEED]",
     .parse = parse_order,
     .help = "permuted: send the commands in another order that keeps the recorded dependencies; "
             "delayed: with pauses of random length before them. Each SEED (1, 2, ...) is another "
             "order. These are two of the ways of --check."},
    {.name = "schedule",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(replay_values, schedule),
     .argument = "FILE",
     .help =
         "CUDA: send the commands in the order that FILE says, one at a time, and where it says "
         "so not before a moment; in virtual time exactly then. Equal bytes show that the "
         "order is one that the GPU may be given."},
    {.name = "loop",
     .letter = 'l',
     .type = TSM_OPTION_NUMBER,
     .offset = TSM_FIELD(replay_values, loop),
     .argument = "COUNT",
     .help = "Send the commands COUNT times, those of a range from the state at its begin. Each "
             "time is "
             "timed."},
    TSM_TIMED_OPTIONS(replay_values, timed),
    {.name = "dry-run",
     .letter = 'n',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(replay_values, dry_run),
     .help = "Only say whether the trace could be replayed here; touch no GPU."},
    {.name = "keep-going",
     .letter = 'k',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(replay_values, keep_going),
     .help = "Do not stop at the first difference."},
    TSM_RERUN_OPTION(replay_values, once),
    {.name = "lossy",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(replay_values, lossy),
     .help = "Replay a trace that something is missing from; the result may mean nothing."},
    {.name = "validate",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(replay_values, validate),
     .help = "Vulkan: run the Khronos validation layer under the replay, and count its errors."},
    TSM_INSPECT_OPTIONS(replay_values, look),
    TSM_KERNEL_OPTION(replay_values, kernels),
    {.name = "trust-code",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(replay_values, trust_code),
     .help = "HSA on the software GPU: run the trace's native code in this process, with all your "
             "rights, instead of in a sandbox. Only for traces whose maker you trust."},
    {.name = "timeout",
     .type = TSM_OPTION_SECONDS,
     .offset = TSM_FIELD(replay_values, timeout_s),
     .argument = "SECONDS",
     .help = "Give up after so long without progress. A kernel makes progress as long as the "
             "software GPU executes it, other than by polling memory; but for no more than ten "
             "times as long. Default: 60."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(replay_values, json),
     .help = "One JSON object, schema \"tsreplay/1\". What kernels print goes to the standard "
             "error then."},
    {0},
};

/* ---- the run --------------------------------------------------------------------------------- */

struct run {
    struct replay_values *values;
    struct sbt_reader *reader;
    struct tsm_symbols *symbols;
    struct tsm_json *json; /* NULL: text */
    struct tsm_inspect look;
    bool looks; /* at what `look` says */
    struct tsm_replay_options replay;
    struct tsm_timed_runs timed;
    struct tsm_rerun_report reruns;
};

static void progress(void *user, uint64_t done, uint64_t total)
{
    tsm_progress("replaying", done, total);
}

static void on_difference(void *user, const struct tsm_difference *difference)
{
    struct run *run = user;

    tsm_progress_end();
    if (!run->reruns.has_difference)
        run->reruns.difference = *difference;
    run->reruns.has_difference = true;
    if (run->json)
        tsm_difference_json(run->json, difference, run->reader, run->symbols);
    else
        tsm_difference_print(difference, run->reader, run->symbols);
}

static int on_time(void *user, const struct tsm_replay_time *time)
{
    return tsm_run_times_add(&((struct run *)user)->timed.times, time);
}

static int settle_options(struct run *run)
{
    struct replay_values *v = run->values;
    int error = tsm_kernel_options_resolve(&v->kernels, run->reader);

    if (error)
        return error;
    run->replay = (struct tsm_replay_options){
        .device = v->device,
        .device_map = v->device_map,
        .library = v->library,
        .loop = v->loop > UINT_MAX ? UINT_MAX : (unsigned)v->loop,
        .timed_runs = v->timed.count.run_count,
        .warmup_runs = v->timed.count.warmup_count,
        .time_commands = tsm_timed_commands(&v->timed, run->reader),
        .on_time = on_time,
        .pace = (enum tsm_pace)v->pace,
        .permute = v->order.permute,
        .delay = v->order.delay,
        .schedule = v->schedule,
        .grain = (enum tsm_grain)v->grain,
        .dry_run = v->dry_run,
        .lossy = v->lossy,
        .trust_code = v->trust_code,
        .keep_going = v->keep_going,
        .validate = v->validate,
        .no_checkpoint = v->from == 1,
        .timeout_ns = v->timeout_s * 1000000000u,
        .shaders = v->look.shaders.list,
        .shader_count = v->look.shaders.count,
        .kernels = v->kernels.list,
        .kernel_count = v->kernels.list_count,
        .progress = progress,
        .on_difference = on_difference,
        .user = run,
    };
    run->looks = tsm_inspect_from_values(&run->look, &v->look);
    run->replay.inspect = run->looks ? &run->look : NULL;
    run->replay.keep_going |= run->looks; /* a difference before it is no reason not to look */
    error = tsm_selection_filter(&run->replay.filter, run->reader, &v->streams, &v->range);
    return error ? error : tsm_selection_seqs(&run->replay.filter, run->reader);
}

/* ---- the result ------------------------------------------------------------------------------ */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_counts(const struct tsm_replay_result *r)
{
    printf("%" PRIu64 " command%s, %" PRIu64 " stream%s", r->command_count,
           plural(r->command_count), r->stream_count, plural(r->stream_count));
    if (r->skipped_count)
        printf(", %" PRIu64 " left out", r->skipped_count);
    if (r->checkpoint)
        printf(", from checkpoint %" PRIu32 " (record %" PRIu64 "; %" PRIu64 " command%s before "
               "it not sent)",
               r->checkpoint, r->checkpoint_seq, r->jumped_count, plural(r->jumped_count));
    if (r->translated_count)
        printf(", %" PRIu64 " address%s moved", r->translated_count,
               r->translated_count == 1 ? "" : "es");
    if (r->translated_word_count)
        printf(", %" PRIu64 " word%s with such translated", r->translated_word_count,
               plural(r->translated_word_count));
    if (r->replaced_count)
        printf(", %" PRIu64 " kernel%s replaced", r->replaced_count, plural(r->replaced_count));
    if (r->validation_count)
        printf(", %" PRIu64 " validation error%s", r->validation_count,
               plural(r->validation_count));
    if (r->unmodelled_count)
        printf(", %" PRIu64 " unmodelled call%s", r->unmodelled_count, plural(r->unmodelled_count));
}

/* Prints the result of a replay that was to inspect: it need not have compared anything. */
static void print_looked(const struct tsm_replay_result *r)
{
    print_counts(r);
    if (r->inspect_file_count)
        printf(", %s%" PRIu64 " file%s written%s\n", tsm_paint(TSM_PAINT_GOOD),
               r->inspect_file_count, plural(r->inspect_file_count), tsm_paint(TSM_PAINT_NONE));
    else
        printf(", %sshown what was presented%s\n", tsm_paint(TSM_PAINT_GOOD),
               tsm_paint(TSM_PAINT_NONE));
}

static void tell_loops(const struct tsm_replay_result *r)
{
    if (r->loop_count)
        tsm_note("%u loops: %.6f s at least, %.6f s median, %.6f s at most; between them %s",
                 r->loop_count, (double)r->loop_min_ns / 1e9, (double)r->loop_median_ns / 1e9,
                 (double)r->loop_max_ns / 1e9,
                 r->loop_kept ? "memory and states were set back" : "all objects were recreated");
}

/* Failures are not among the checksums. */
static void print_same(const struct tsm_replay_result *r)
{
    const uint64_t equal_count = r->checksum_count - r->failure_count;

    printf(", %s", tsm_paint(TSM_PAINT_GOOD));
    if (equal_count || !r->failure_count)
        printf("all %" PRIu64 " checksums equal%s", equal_count, r->failure_count ? ", " : "");
    if (r->failure_count)
        printf("fails as recorded: %s", tsm_clean(r->failure));
    printf("%s\n", tsm_paint(TSM_PAINT_NONE));
}

static void print_different(const struct tsm_replay_result *r)
{
    printf(", %s", tsm_paint(TSM_PAINT_BAD));
    if (r->difference_count > r->fails_otherwise)
        printf("%" PRIu64 " of %" PRIu64 " checksums differ", r->difference_count,
               r->checksum_count);
    else
        printf("%s", tsm_clean(r->why));
    printf("%s\n", tsm_paint(TSM_PAINT_NONE));
}

static void print_result(const struct run *run, const struct tsm_replay_result *r)
{
    print_counts(r);
    if (r->verdict == TSM_SAME && run->reruns.has_part)
        tsm_rerun_print_part(&run->reruns);
    else if (r->verdict == TSM_SAME)
        print_same(r);
    else if (r->verdict == TSM_DIFFERENT)
        print_different(r);
    else
        printf(", %s%s: %s%s\n", tsm_paint(TSM_PAINT_WARN),
               r->verdict == TSM_CANNOT_TELL ? "cannot tell" : "played, nothing to compare",
               tsm_clean(r->why), tsm_paint(TSM_PAINT_NONE));
    if (r->uncompared_count && r->checksum_count)
        tsm_note("%" PRIu64 " recorded result%s compared, %" PRIu64 " not", r->checksum_count,
                 plural(r->checksum_count), r->uncompared_count);
    if (r->spot_difference_count && r->verdict != TSM_DIFFERENT)
        tsm_note("%" PRIu64 " of %" PRIu64 " spot checks of memory differ; no recorded result does",
                 r->spot_difference_count, r->spot_count);
    if (r->hollow_count)
        tsm_note("%" PRIu64
                 " submit%s of other streams did nothing but wait and signal: the streams "
                 "asked for have no memory in common with %s",
                 r->hollow_count, plural(r->hollow_count), r->hollow_count == 1 ? "it" : "them");
    if (r->timed_count)
        tsm_note("%" PRIu64 " more comparison%s nothing: the memory holds timestamps of the GPU",
                 r->timed_count, r->timed_count == 1 ? " says" : "s say");
    if (r->interrupted_count)
        tsm_note("%" PRIu64 " checkpoint%s not finished when it was recorded and not used",
                 r->interrupted_count, r->interrupted_count == 1 ? " was" : "s were");
    if (r->device[0])
        tell_loops(r);
    if (r->device[0])
        tsm_note("on %s, %.3f s (recorded: %.3f s)", r->device, (double)r->elapsed_ns / 1e9,
                 (double)r->recorded_ns / 1e9);
}

/* Reports a dry run that refused nothing: refusals were reported before. */
static int report_dry_run(const struct run *run)
{
    if (run->json)
        tsm_json_put_bool(run->json, "replayable", true);
    else
        printf("%s%s could be replayed here%s\n", tsm_paint(TSM_PAINT_GOOD),
               tsm_clean(sbt_reader_name(run->reader)), tsm_paint(TSM_PAINT_NONE));
    return TSM_EXIT_OK;
}

static const char *digest_text(char out[33], const struct sbt_key *digest)
{
    for (size_t i = 0; i < sizeof(digest->bytes); i++)
        tsm_format(out + 2 * i, 3, "%02x", digest->bytes[i]);
    return out;
}

static void json_result(struct tsm_json *j, const struct tsm_replay_result *r)
{
    char digest[33];

    tsm_json_put_string(j, "verdict", tsm_verdict_name(r->verdict));
    tsm_json_put_string(j, "why", r->why);
    tsm_json_put_string(j, "device", r->device);
    tsm_json_put_u64(j, "command_count", r->command_count);
    tsm_json_put_u64(j, "hollow_count", r->hollow_count);
    tsm_json_put_u64(j, "skipped_count", r->skipped_count);
    tsm_json_put_u64(j, "checkpoint", r->checkpoint);
    tsm_json_put_u64(j, "checkpoint_seq", r->checkpoint_seq);
    tsm_json_put_u64(j, "jumped_count", r->jumped_count);
    tsm_json_put_u64(j, "interrupted_count", r->interrupted_count);
    tsm_json_put_u64(j, "stream_count", r->stream_count);
    tsm_json_put_u64(j, "checksum_count", r->checksum_count);
    tsm_json_put_u64(j, "spot_count", r->spot_count);
    tsm_json_put_u64(j, "spot_difference_count", r->spot_difference_count);
    tsm_json_put_u64(j, "difference_count", r->difference_count);
    tsm_json_put_u64(j, "failure_count", r->failure_count);
    tsm_json_put_string(j, "failure", r->failure);
    tsm_json_put_bool(j, "fails_otherwise", r->fails_otherwise);
    tsm_json_put_u64(j, "uncompared_count", r->uncompared_count);
    tsm_json_put_u64(j, "timed_count", r->timed_count);
    tsm_json_put_u64(j, "unmodelled_count", r->unmodelled_count);
    tsm_json_put_u64(j, "tainted_count", r->tainted_count);
    tsm_json_put_u64(j, "translated_count", r->translated_count);
    tsm_json_put_u64(j, "translated_word_count", r->translated_word_count);
    tsm_json_put_u64(j, "untranslated_count", r->untranslated_count);
    tsm_json_put_u64(j, "early_count", r->early_count);
    tsm_json_put_u64(j, "ahead_count", r->ahead_count);
    tsm_json_put_u64(j, "replaced_count", r->replaced_count);
    tsm_json_put_u64(j, "validation_count", r->validation_count);
    tsm_json_put_u64(j, "look_count", r->inspect_file_count);
    tsm_json_put_string(j, "digest", digest_text(digest, &r->digest));
    tsm_json_put_u64(j, "elapsed_ns", r->elapsed_ns);
    tsm_json_put_u64(j, "recorded_ns", r->recorded_ns);
    if (r->loop_count) {
        tsm_json_put_u64(j, "loop_count", r->loop_count);
        tsm_json_put_bool(j, "loop_kept", r->loop_kept);
        tsm_json_put_u64(j, "loop_min_ns", r->loop_min_ns);
        tsm_json_put_u64(j, "loop_median_ns", r->loop_median_ns);
        tsm_json_put_u64(j, "loop_max_ns", r->loop_max_ns);
    }
}

static int report_result(struct run *run, const struct tsm_replay_result *result)
{
    if (run->values->dry_run)
        return report_dry_run(run);
    bool only_looked =
        run->looks && result->verdict != TSM_SAME && result->verdict != TSM_DIFFERENT;

    if (run->looks && !run->look.present && !result->inspect_file_count)
        return tsm_complain("%s: the record to inspect was not replayed: it lies outside of "
                            "--range or --streams, or before recording began",
                            sbt_reader_name(run->reader));

    if (!result->command_count && tsm_selection_is_part(&run->replay.filter))
        tsm_note("%s: no command lies in what was asked for", sbt_reader_name(run->reader));
    if (run->json)
        json_result(run->json, result);
    else if (only_looked)
        print_looked(result);
    else
        print_result(run, result);
    if (run->json)
        tsm_rerun_json_part(&run->reruns, run->json);
    tsm_rerun_explain(&run->reruns, result, run->json);
    return only_looked ? TSM_EXIT_OK : (int)result->verdict;
}

/* Adds one API's result to the whole: the worse verdict is the verdict. "Nothing to compare" yields
 * to an API that has something. */
static void add_verdict(struct tsm_replay_result *all, const struct tsm_replay_result *one,
                        const char *api, bool is_first)
{
    if (!is_first && tsm_verdict_rank(one->verdict) <= tsm_verdict_rank(all->verdict))
        return;
    all->verdict = one->verdict;
    all->why[0] = '\0';
    if (*one->why)
        tsm_format(all->why, sizeof(all->why), "%s: %s", api, one->why);
}

static void add_result(struct tsm_replay_result *all, const struct tsm_replay_result *one)
{
    tsm_format(all->device + strlen(all->device), sizeof(all->device) - strlen(all->device), "%s%s",
               *all->device ? "; " : "", one->device);
    all->command_count += one->command_count;
    all->hollow_count += one->hollow_count;
    all->skipped_count += one->skipped_count;
    all->jumped_count += one->jumped_count;
    all->stream_count += one->stream_count;
    all->checksum_count += one->checksum_count;
    all->difference_count += one->difference_count;
    all->spot_count += one->spot_count;
    all->spot_difference_count += one->spot_difference_count;
    all->uncompared_count += one->uncompared_count;
    all->failure_count += one->failure_count;
    all->fails_otherwise |= one->fails_otherwise;
    if (*one->failure)
        memcpy(all->failure, one->failure, sizeof(all->failure));
    all->timed_count += one->timed_count;
    all->unmodelled_count += one->unmodelled_count;
    all->tainted_count += one->tainted_count;
    all->translated_count += one->translated_count;
    all->translated_word_count += one->translated_word_count;
    all->untranslated_count += one->untranslated_count;
    all->early_count += one->early_count;
    all->ahead_count += one->ahead_count;
    all->replaced_count += one->replaced_count;
    all->validation_count += one->validation_count;
    all->elapsed_ns += one->elapsed_ns;
    if (all->timed_run_count < one->timed_run_count)
        all->timed_run_count = one->timed_run_count;
    if (*one->clocks)
        memcpy(all->clocks, one->clocks, sizeof(all->clocks));
    all->checkpoint = one->checkpoint;
    all->checkpoint_seq = one->checkpoint_seq;
    all->interrupted_count = one->interrupted_count;
    if (all->recorded_ns < one->recorded_ns)
        all->recorded_ns = one->recorded_ns;
    for (size_t i = 0; i < sizeof(all->digest.bytes); i++)
        all->digest.bytes[i] ^= one->digest.bytes[i];
}

static int replay_api(struct run *run, struct tsm_replay_result *result)
{
    struct tsm_replay *replay = NULL;
    int error = tsm_replay_create(&replay, run->reader, &run->replay);

    if (error == 0)
        error = tsm_replay_run(replay, result);
    if (error == 0)
        error = tsm_run_times_end(&run->timed.times);
    tsm_replay_destroy(replay);
    return error;
}

/* One API after the other. */
static int replay_all(struct run *run, struct tsm_replay_result *result)
{
    const char *apis[TSM_REPLAY_API_MAX];
    int count = tsm_replay_apis(run->reader, apis, TSM_REPLAY_API_MAX), error = 0;
    const size_t kernel_count = run->replay.kernel_count;

    if (count == 1)
        run->replay.backend = apis[0];
    if (count <= 1)
        return count < 0 ? count : replay_api(run, result);
    for (int i = 0; i < count && !error; i++) {
        struct tsm_replay_result one = {0};
        run->replay.backend = apis[i];
        run->replay.kernel_count = tsm_replay_can_replace_kernels(apis[i]) ? kernel_count : 0;
        error = replay_api(run, &one);
        if (error)
            break;
        add_verdict(result, &one, apis[i], i == 0);
        add_result(result, &one);
    }
    return error;
}

static int replay_once(struct run *run)
{
    struct tsm_replay_result result = {0};
    int error;

    if (run->json) {
        tsm_json_name(run->json, "differences");
        tsm_json_open(run->json, '[');
    }
    if (!run->values->once && tsm_rerun_is_possible(run->reader, &run->replay) &&
        tsm_reruns_begin(&run->reruns.reruns, run->reader, &run->replay) < 0)
        tsm_complain_error(); /* the replay itself goes on */
    error = replay_all(run, &result);
    if (run->json)
        tsm_json_close(run->json, ']');
    if (!error)
        tsm_rerun_compare_part(&run->reruns, &result, &run->replay);
    if (error && run->json)
        tsm_json_put_string(run->json, "error", tsm_error_message());
    tsm_progress_end();
    if (error)
        return tsm_complain_error();
    const int status = report_result(run, &result);
    if (run->values->timed.count.run_count)
        error = tsm_timed_end(&run->timed, &result, &run->replay.filter, run->json);
    return error ? tsm_complain_error() : status;
}

/* Options that ask for other runs than --time. Returns 0, or an exit status after a complaint. */
static int check_timed(const struct replay_values *v, bool looks)
{
    if (!v->timed.count.run_count)
        return v->timed.output ? tsm_complain("--output keeps the times of --time; say how often")
               : v->timed.commands ? tsm_complain("--time-commands goes with --time; say how often")
                                   : 0;
    if (v->check)
        return tsm_complain("--time and --check: runs of --check differ from each other; one at a "
                            "time, please");
    if (v->loop)
        return tsm_complain("--time and --loop: --time=COUNT says how often; leave --loop out");
    if (v->dry_run)
        return tsm_complain("--time and --dry-run: nothing runs that could be timed");
    return looks ? tsm_complain("--time runs the trace many times: look at it without --time") : 0;
}

/* Returns 0, or an exit status after a complaint. */
static int check_schedule(const struct replay_values *v, struct sbt_reader *reader, bool looks)
{
    const char *apis[TSM_REPLAY_API_MAX];

    if (!v->schedule)
        return 0;
    if (v->check)
        return tsm_complain("--schedule and --check: runs of --check have orders of their own; one "
                            "at a time, please");
    if (looks)
        return tsm_complain("--schedule is for CUDA, which has nothing to look at");
    if (tsm_replay_apis(reader, apis, TSM_REPLAY_API_MAX) > 1)
        return tsm_complain("%s: has commands of %s and %s: a schedule has those of CUDA alone",
                            sbt_reader_name(reader), apis[0], apis[1]);
    return 0;
}

static int begin_timed(struct run *run)
{
    const struct replay_values *v = run->values;

    run->timed.values = &v->timed;
    run->timed.library = v->library;
    run->timed.is_lossy = v->lossy;
    run->timed.reader = run->reader;
    return v->timed.count.run_count ? tsm_timed_begin(&run->timed) : 0;
}

static int replay_trace(struct run *run)
{
    struct tsm_json json = {0};
    size_t noted = 0;
    int status;

    tsm_trace_note_damage(run->reader, &noted);
    if (run->values->check && tsm_inspect_from_values(&run->look, &run->values->look))
        return tsm_complain("--check runs the trace many times: look at it without --check");
    const bool looks = tsm_inspect_from_values(&run->look, &run->values->look);
    status = check_timed(run->values, looks);
    if (!status)
        status = check_schedule(run->values, run->reader, looks);
    if (status)
        return status;
    if (begin_timed(run) < 0 || settle_options(run) < 0 ||
        tsm_symbols_create(&run->symbols, run->reader) < 0)
        return tsm_complain_error();
    if (run->values->json) {
        json.out = tsm_terminal_take_output(); /* kernels may print, too */
        if (!json.out)
            return TSM_EXIT_ERROR;
        run->json = &json;
        tsm_json_begin(&json, "tsreplay/1");
        tsm_json_put_string(&json, "trace", sbt_reader_name(run->reader));
    }
    status = run->values->check ? tsm_arms_run(run->reader, run->symbols, &run->replay,
                                               (unsigned)run->values->check, run->json)
                                : replay_once(run);
    if (run->json)
        tsm_json_end(&json);
    if (sbt_reader_examine_tables(run->reader) < 0) /* of what the replay did not need, too */
        tsm_complain_error();
    tsm_trace_note_damage(run->reader, &noted);
    return status;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct run run = {.values = values};
    int status = TSM_EXIT_ERROR;

    tsm_run_times_init(&run.timed.times);
    if (!run.values->dry_run)
        tsm_aslr_disable();
    if (words->count == 2 &&
        !tsm_inspect_take_directory(&((struct replay_values *)values)->look, words->words[0]))
        return tsm_complain("one trace, please; --help says more");
    run.reader = tsm_trace_open(words->words[words->count - 1]);
    if (run.reader)
        status = replay_trace(&run);
    tsm_reruns_end(&run.reruns.reruns);
    tsm_symbols_destroy(run.symbols);
    tsm_run_times_finish(&run.timed.times);
    tsm_kernel_options_finish(&run.values->kernels);
    sbt_reader_destroy(run.reader);
    return status;
}

const struct tsm_command tsm_command_replay = {
    .name = "replay",
    .alias = "tsreplay",
    .summary = "send a trace's commands to a GPU again and compare what comes out",
    .synopsis = "[OPTION]... TRACE\n[OPTION]... --dump-resources SEQ DIR TRACE",
    .description =
        "Makes the recorded program's GPU objects again, at their recorded addresses, sends its "
        "commands stream by stream, and says whether the GPU gives back the same bytes. The "
        "program is not needed. The first difference is shown with its command, stream, kernel, "
        "buffer and offset, and the program's stack that sent the command.\n\n"
        "With --range, what comes before the range need not run when the trace has checkpoints "
        "(tsrecord --checkpoint): the last one before the range is loaded, and the result says "
        "which it was and how many commands were left out by that. A trace whose recording began "
        "late (tsrecord --start-call, tsctl start) begins with a checkpoint, and is always "
        "replayed "
        "from there.\n\n"
        "With --time the runs are timed on the device: two drivers (--library), compilers or flags "
        "are compared on the same commands by 'tracesmith stats --compare' of two outputs. Copies "
        "from and to memory of the program go through memory of the replay, which need not be "
        "pinned as the program's was: compare them between replays. The machine is called unsteady "
        "when runs drift or vary by more than 5 %.\n\n"
        "With --schedule the commands are sent in the order, and in virtual time "
        "(TS_EMU_TIME=virtual) at the moments, that a file says: \"tsschedule 1\", then a line for "
        "each command, \"send SEQ [at=NS] [on=STREAM] [after=SEQ,...]\"; \"wait SEQ\" puts a wait "
        "of the "
        "host there, \"drop SEQ\" leaves one, or one stream's wait for another, out. docs/tools.md "
        "says more.\n\n"
        "With --check the runs are compared with each other instead of with the recording: does "
        "the GPU do the same twice?",
    .examples = "tsreplay trace.sbt\n"
                "tsreplay --device=emu --grain=sync trace.sbt\n"
                "tsreplay --streams=0,2 --range=100:200 trace.sbt\n"
                "tsreplay --check=5 trace.sbt\n"
                "tsreplay --time=20 -o timed.sbt trace.sbt\n"
                "TS_EMU_TIME=virtual tsreplay --device=emu --schedule=s.txt --time=1:0 trace.sbt\n"
                "tsreplay --screenshot=1,100-110:shots trace.sbt\n"
                "tsreplay --dump-resources=812:after-812 trace.sbt\n"
                "tsreplay --replace-shader=5d3c01aa=mine.spv trace.sbt\n"
                "tsreplay --replace-kernel=saxpy=mine.ptx trace.sbt\n"
                "tsreplay --dry-run trace.sbt           could it be replayed here?\n",
    .exit_status = "0|same; with --screenshot, --dump-resources or --present: done, and nothing "
                   "differs\n1|different\n2|cannot tell, or an error\n3|played, but nothing was "
                   "recorded to compare with",
    .options = options,
    .values_size = sizeof(struct replay_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 2,
    .run = run,
};
