/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the tests of the runtime library: programs that do by hand what the code does
 * that nvcc makes for the host. Each is built for both interfaces.
 */
#ifndef TESTS_EMU_CUDART_TEST_H
#define TESTS_EMU_CUDART_TEST_H

#include <stdint.h>
#include <stdlib.h>

#include "emu/cudart/abi.h"
#include "tests/emu/emu_fatbin.h"
#include "tests/emu/emu_kernels.h"
#include "tests/unit/check.h"

#define OK(call)         CHECK_EQ_INT(call, cudaSuccess)
#define FAILS(call, why) CHECK_EQ_INT(call, why)

/* An image as it lies in a program; no member moves once it is registered. */
struct test_image {
    struct {
        int magic, version;
        const void *data;
        const void **parts;
    } wrapper;
    struct tsm_buffer bytes;
    void **handle;
};

/* Registers what `bytes` holds by now. */
static inline void test_register(struct test_image *image)
{
    image->wrapper.magic = FATBIN_WRAPPER;
    if (!image->wrapper.version)
        image->wrapper.version = 1;
    image->wrapper.data = fatbin_end(&image->bytes);
    image->handle = __cudaRegisterFatBinary(&image->wrapper);
    CHECK(image->handle != NULL);
}

/* Registers PTX for sm_`arch`. */
static inline void test_register_ptx(struct test_image *image, unsigned arch, const char *text)
{
    fatbin_begin(&image->bytes);
    fatbin_add(&image->bytes, FATBIN_PTX, arch, 0, text, strlen(text) + 1, 0);
    test_register(image);
}

/* Registers a kernel under the address `stub`. */
static inline void test_function(struct test_image *image, const void *stub, const char *name)
{
    __cudaRegisterFunction(image->handle, stub, (char *)(uintptr_t)name, name, -1, NULL, NULL, NULL,
                           NULL, NULL);
}

static inline void test_finish(struct test_image *image)
{
    __cudaUnregisterFatBinary(image->handle);
    tsm_buffer_finish(&image->bytes);
}

#endif
