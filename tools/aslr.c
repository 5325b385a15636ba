/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/aslr.h"

#include "base/buffer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

/* Set in the process that was started over: where the setting has no effect, once is enough. */
#define MARK "TS_STILL_ADDRESSES"

/* Arguments were put in another order while parsing; the system still has them as they were. */
static bool read_arguments(struct tsm_buffer *out)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t count = -1;

    if (fd < 0)
        return false;
    do {
        uint8_t *at = tsm_buffer_reserve(out, 4096);
        count = at ? read(fd, at, 4096) : -1;
        out->size += count > 0 ? (size_t)count : 0;
    } while (count > 0);
    close(fd);
    return count == 0 && out->size > 0 && out->data[out->size - 1] == '\0';
}

static void start_over(struct tsm_buffer *text)
{
    size_t count = 0;
    char **argv;

    for (size_t i = 0; i < text->size; i++)
        count += text->data[i] == '\0';
    argv = calloc(count + 1, sizeof(*argv));
    if (!argv)
        return;
    char *at = (char *)text->data;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        argv[i] = at;
    execv("/proc/self/exe", argv);
    free(argv);
}

void tsm_aslr_disable(void)
{
    int now = personality(0xffffffff);
    struct tsm_buffer text = {0};

    if (now < 0 || (now & ADDR_NO_RANDOMIZE) || getenv(MARK))
        return;
    if (read_arguments(&text) && personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0 &&
        setenv(MARK, "1", 1) == 0)
        start_over(&text);
    tsm_buffer_finish(&text);
}
