/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays the trace of a scene, and saves it as trim does.
 */
#include "tests/fuzz/scene_record.h"
#include "tracesmith/replay.h"

#include "replay/backend.h"

static int save_memory(void *user, const struct tsm_saved *saved)
{
    return 0;
}

static int save_state(void *user, const char *type, const uint64_t slots[8])
{
    return 0;
}

void scene_replay(struct sbt_reader *reader, struct tsm_replay_options *options, unsigned bits,
                  unsigned place)
{
    const struct tsm_saver saver = {
        .memory = save_memory, .state = save_state, .part_first = place};
    struct tsm_replay_result result;
    struct tsm_replay *replay = NULL;
    int error;

    options->library = ""; /* this program */
    options->loop = bits & SCENE_LOOP ? 2 : 1;
    options->permute = bits & SCENE_PERMUTE ? 1 : 0;
    options->lossy = options->keep_going = true;
    error = tsm_replay_create(&replay, reader, options);
    if (!error)
        error = tsm_replay_run(replay, &result);
    if (!error && (bits & SCENE_SAVE))
        error = tsm_replay_save(replay, &saver);
    if (bits & SCENE_WORKS)
        scene_must(error);
    tsm_replay_destroy(replay);
}
