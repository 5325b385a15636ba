/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that the driver's messages can be asked for, and reach listeners.
 */
#include <unistd.h>

#include "tests/emu/emu_test.h"

static unsigned heard;
static CUresult in_callback;

static void hear(void *data, CUlogLevel level, char *message, size_t length)
{
    int count;

    CHECK(data == &heard);
    CHECK_EQ_INT(strlen(message), length);
    CHECK(strstr(message, "TS_EMU_DEVICES=many") != NULL);
    in_callback = cuDeviceGetCount(&count);
    heard++;
}

int main(void)
{
    char text[4096], small[4] = "xyz", path[] = "/tmp/emu_logs_XXXXXX";
    size_t size = sizeof(text), small_size = sizeof(small);
    CUlogIterator start, after;
    CUlogsCallbackHandle handle;
    const void *table;
    CUuuid id = {{0}};
    int file = mkstemp(path);

    setenv("TS_EMU_DEVICES", "many", 1);
    OK(cuLogsRegisterCallback(hear, &heard, &handle));
    OK(cuLogsCurrent(&start, 0));
    OK(cuInit(0));
    CHECK_EQ_INT(heard, 1);
    CHECK_EQ_INT(in_callback, CUDA_ERROR_NOT_PERMITTED);
    OK(cuLogsUnregisterCallback(handle));
    FAILS(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsCurrent(&after, 0));
    CHECK(after != start);
    FAILS(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND); /* says something, too */
    CHECK_EQ_INT(heard, 1);

    FAILS(cuLogsDumpToMemory(NULL, small, &small_size, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(small_size, 0);
    OK(cuLogsDumpToMemory(NULL, text, &size, 0));
    CHECK_EQ_INT(strlen(text), size);
    CHECK(strstr(text, "TS_EMU_DEVICES=many") != NULL);
    CHECK(strstr(text, "cudart") != NULL);
    size -= 10; /* for one of the two, and a note */
    OK(cuLogsDumpToMemory(NULL, text, &size, 0));
    CHECK(strstr(text, "left out") != NULL);
    CHECK(strstr(text, "TS_EMU_DEVICES=many") == NULL);
    CHECK(strstr(text, "cudart") != NULL);
    size = sizeof(text);
    OK(cuLogsDumpToMemory(&after, text, &size, 0));
    CHECK(strstr(text, "TS_EMU_DEVICES=many") == NULL);
    size = sizeof(text);
    OK(cuLogsDumpToMemory(&after, text, &size, 0)); /* nothing new */
    CHECK_EQ_INT(size, 0);

    OK(cuLogsDumpToFile(&start, path, 0));
    CHECK(read(file, text, sizeof(text)) > 0);
    CHECK(strstr(text, "TS_EMU_DEVICES=many") != NULL);
    FAILS(cuLogsDumpToFile(NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLogsDumpToFile(NULL, "/nowhere/at/all", 0), CUDA_ERROR_INVALID_VALUE);
    unlink(path);
    return check_result();
}
