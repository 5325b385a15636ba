/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

size_t tsm_text_copy(char *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);

    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

size_t tsm_text_numbered(char *out, size_t size, const char *text, unsigned number)
{
    char digits[3 * sizeof(number) + 1], *first = digits + sizeof(digits) - 1;
    size_t length = tsm_text_copy(out, size, text);

    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    return length + tsm_text_copy(out + length, size - length, first);
}

bool tsm_text_ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), length = strlen(end);

    return size >= length && strcmp(text + size - length, end) == 0;
}

size_t tsm_text_character_within(const char *text, size_t left)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    size_t size = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    unsigned value = p[0] & (0x7fu >> size);

    if (size < 2 || p[0] > 0xf4)
        return p[0] > 0xf4 ? 0 : size;
    for (size_t i = 1; i < size; i++) {
        if (i == left || (p[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (p[i] & 0x3f);
    }
    if (value < least[size] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    return size;
}

size_t tsm_text_character(const char *text)
{
    return tsm_text_character_within(text, SIZE_MAX);
}

/* U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069: what follows is shown in another
 * order, or on another line. */
static bool turns(const unsigned char *p, size_t size)
{
    unsigned value = size == 3 ? (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu) : 0;

    return (size == 2 && p[0] == 0xd8 && p[1] == 0x9c) || value == 0x200e || value == 0x200f ||
           (value >= 0x2028 && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
}

size_t tsm_text_harmless(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t size = tsm_text_character(text);

    if (p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0) || turns(p, size))
        return 0;
    return size;
}

void tsm_text_disarm(char *text)
{
    while (*text) {
        size_t size = *text == '\n' || *text == '\t' ? 1 : tsm_text_harmless(text);

        if (!size) {
            *text = '?';
            size = 1;
        }
        text += size;
    }
}

const char *tsm_errno_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        {0, "no error"},
        {EACCES, "permission denied"},
        {EAGAIN, "too many threads"},
        {EBADF, "bad file descriptor"},
        {EBUSY, "busy"},
        {EDQUOT, "disk quota exceeded"},
        {EEXIST, "it exists already"},
        {EFAULT, "bad address"},
        {EFBIG, "file too large"},
        {EINTR, "interrupted"},
        {EINVAL, "invalid argument"},
        {EIO, "input/output error"},
        {EISDIR, "it is a folder"},
        {ELOOP, "symbolic link where there may be none"},
        {EMFILE, "too many open files"},
        {ENAMETOOLONG, "file name too long"},
        {ENFILE, "too many open files in the system"},
        {ENODEV, "no such device"},
        {ENOENT, "no such file or folder"},
        {ENOMEM, "out of memory"},
        {ENOSPC, "no space left on device"},
        {ENOSYS, "the system has no such call"},
        {ENOTDIR, "not a folder"},
        {ENXIO, "no such device or address"},
        {EOVERFLOW, "value too large"},
        {EPERM, "operation not permitted"},
        {EPIPE, "nobody reads"},
        {EROFS, "read-only file system"},
        {ETXTBSY, "file is being executed"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].error == error)
            return texts[i].text;
    return "unknown system error";
}
