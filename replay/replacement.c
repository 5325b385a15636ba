/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/replacement.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_SIZE_MAX (256u << 20)

int tsm_replacement_read(uint8_t **out, size_t *size, const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data, *fitting;

    *out = NULL;
    if (!file)
        return tsm_fail(TSM_E_IO, "%s: cannot be opened: %s", path, tsm_errno_text(errno));
    data = malloc(FILE_SIZE_MAX + 1);
    *size = data ? fread(data, 1, FILE_SIZE_MAX, file) : 0;
    fclose(file);
    fitting = *size ? realloc(data, *size + 1) : NULL; /* gives back what is not needed */
    if (!fitting || *size == FILE_SIZE_MAX) {
        free(fitting ? fitting : data);
        return tsm_fail(TSM_E_FORMAT, "%s: is empty, or too large", path);
    }
    fitting[*size] = 0;
    *out = fitting;
    return 0;
}
