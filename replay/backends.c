/* SPDX-License-Identifier: Apache-2.0
 *
 * The backends of this build.
 */
#include "replay/backend.h"

const struct tsm_backend *const tsm_backends[] = {
    NULL,
};
