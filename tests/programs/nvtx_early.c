/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that makes a label while it is initialised, before the recorder is.
 */
#include "tests/programs/nvtx_loader.h"

__attribute__((constructor)) static void begin(void)
{
    nvtx_load();
    nvtx.push("early");
    nvtx_domain.create("early");
    nvtx.pop();
}
