/* SPDX-License-Identifier: Apache-2.0
 *
 * Images: pixels come from and go to the program's memory and pools, with and without pitches; an
 * image is copied into another one of another layout, cleared in part, and read by a kernel with a
 * sampler.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH  100u
#define HEIGHT 20u
#define PITCH  (WIDTH + 4u) /* pixels */

static const hsa_ext_image_descriptor_t about = {
    .geometry = HSA_EXT_IMAGE_GEOMETRY_2D,
    .width = WIDTH,
    .height = HEIGHT,
    .format = {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R}};
static const hsa_ext_image_region_t whole = {{0, 0, 0}, {WIDTH, HEIGHT, 1}};

static hsa_ext_image_t image_take(const struct hsa_machine *machine)
{
    hsa_ext_image_data_info_t info;
    hsa_ext_image_t image;

    HSA_CHECK(hsa_ext_image_data_get_info(machine->gpu, &about, HSA_ACCESS_PERMISSION_RW, &info));
    HSA_CHECK(hsa_ext_image_create(machine->gpu, &about, hsa_pool_take(machine->device, info.size),
                                   HSA_ACCESS_PERMISSION_RW, &image));
    return image;
}

/* With rows as far apart as the program wants. */
static hsa_ext_image_t linear_take(const struct hsa_machine *machine)
{
    const size_t pitch = 1024, slice = pitch * HEIGHT;
    hsa_ext_image_t image;

    HSA_CHECK(hsa_ext_image_create_with_layout(
        machine->gpu, &about, hsa_pool_take(machine->device, slice), HSA_ACCESS_PERMISSION_RW,
        HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, slice, &image));
    return image;
}

static double sum(const float *pixels, size_t pitch)
{
    double total = 0;

    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            total += (double)pixels[y * pitch + x] * (x + 1);
    return total;
}

static double run_kernel(const struct hsa_machine *machine, hsa_ext_image_t image)
{
    static const uint32_t grid[3] = {WIDTH, HEIGHT, 1};
    static const uint16_t group[3] = {10, 10, 1};
    const hsa_ext_sampler_descriptor_t how = {.address_mode =
                                                  HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE};
    struct hsa_found_kernel sample = hsa_kernel_find(machine, "sample.kd");
    struct sample_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    hsa_signal_t done = hsa_signal_take(1);
    hsa_ext_sampler_t sampler;
    float out[WIDTH * HEIGHT];

    HSA_CHECK(hsa_ext_sampler_create(machine->gpu, &how, &sampler));
    *arguments = (struct sample_arguments){(void *)(uintptr_t)image.handle,
                                           (void *)(uintptr_t)sampler.handle,
                                           hsa_pool_take(machine->device, sizeof(out))};
    hsa_ring(queue, hsa_dispatch(queue, &sample, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(out, arguments->out, sizeof(out)));
    HSA_CHECK(hsa_ext_sampler_destroy(machine->gpu, sampler));
    HSA_CHECK(hsa_queue_destroy(queue));
    return sum(out, WIDTH);
}

int main(int argc, char **argv)
{
    static const float half[4] = {0.5f, 0, 0, 0};
    const hsa_ext_image_region_t corner = {{10, 2, 0}, {20, 5, 1}};
    const hsa_dim3_t from = {1, 1, 0}, to = {0, 0, 0}, range = {WIDTH - 1, HEIGHT - 1, 1};
    struct hsa_machine machine;
    hsa_ext_image_t image, linear;
    float *pixels = calloc(PITCH * HEIGHT, sizeof(*pixels)), *pool;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    for (unsigned i = 0; i < PITCH * HEIGHT; i++)
        pixels[i] = (float)(i % 97);
    pool = hsa_pool_take(machine.fine, WIDTH * HEIGHT * sizeof(*pool));
    image = image_take(&machine);
    linear = linear_take(&machine);
    HSA_CHECK(hsa_ext_image_import(machine.gpu, pixels, PITCH * sizeof(*pixels), 0, image, &whole));
    memset(pixels, 0, PITCH * HEIGHT * sizeof(*pixels));
    HSA_CHECK(hsa_ext_image_export(machine.gpu, image, pool, 0, 0, &whole));
    printf("out: %.1f\n", sum(pool, WIDTH));
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        pool[i] += 1;
    HSA_CHECK(hsa_ext_image_import(machine.gpu, pool, 0, 0, linear, &whole));
    HSA_CHECK(hsa_ext_image_copy(machine.gpu, image, &from, linear, &to, &range));
    HSA_CHECK(hsa_ext_image_clear(machine.gpu, linear, half, &corner));
    HSA_CHECK(
        hsa_ext_image_export(machine.gpu, linear, pixels, PITCH * sizeof(*pixels), 0, &whole));
    printf("copied: %.1f\n", sum(pixels, PITCH));
    printf("sampled: %.1f\n", run_kernel(&machine, linear));
    HSA_CHECK(hsa_ext_image_destroy(machine.gpu, image));
    HSA_CHECK(hsa_ext_image_destroy(machine.gpu, linear));
    HSA_CHECK(hsa_shut_down());
    return 0;
}
