/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences between the fuzzers of replays by API: fuzz_replay.c is the same for all of them.
 */
#ifndef TESTS_FUZZ_SCENE_API_H
#define TESTS_FUZZ_SCENE_API_H

#include "replay/backend.h"

struct scene_api {
    const struct tsm_api_description *description;
    /* Once, before anything else: the environment of the API's driver. May be NULL. */
    void (*prepare)(void);
    /* Before and after each replay; may be NULL. `bits` are the scene's options. */
    void (*begin)(unsigned bits);
    void (*end)(void);
};

extern const struct scene_api scene_api;

#endif
