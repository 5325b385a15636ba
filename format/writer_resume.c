/* SPDX-License-Identifier: Apache-2.0 */
#include "format/writer_state.h"

#include <unistd.h>

int sbt_writer_resume(struct sbt_writer **out, int fd, const char *path,
                      const struct sbt_writer_options *options)
{
    close(fd);
    return tsm_fail(TSM_E_UNSUPPORTED, "%s: appending is not built yet", path);
}
