/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>

size_t tsm_vformat(char *out, size_t size, const char *format, va_list ap)
{
    int saved_errno = errno;
    int wanted = vsnprintf(out, size, format, ap);

    errno = saved_errno;
    if (wanted < 0) {
        out[0] = '\0';
        return 0;
    }
    return (size_t)wanted < size ? (size_t)wanted : size - 1;
}

size_t tsm_format(char *out, size_t size, const char *format, ...)
{
    va_list ap;
    size_t used;

    va_start(ap, format);
    used = tsm_vformat(out, size, format, ap);
    va_end(ap);
    return used;
}
