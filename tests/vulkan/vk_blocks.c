/* SPDX-License-Identifier: Apache-2.0
 *
 * Block-compressed textures of the software GPU, texel by texel, against Debian's Vulkan driver:
 * the same random blocks, which that driver decodes when it copies an image into one of floats.
 * BC6H and BC7 are exact; of the others Mesa cuts ends and sums to bytes.
 */
#include "tests/vulkan/vk_small.h"

#include <math.h>

#include "tests/emu/emu_test.h"
#include "tests/emu/emu_texture_kernels.h"

enum { SIDE = 64, BLOCKS = (SIDE / 4) * (SIDE / 4), TEXELS = SIDE * SIDE };

static const struct format {
    const char *name;
    VkFormat vulkan;
    CUarray_format cuda;
    unsigned channels, block_size;
    double tolerance;
} formats[] = {
    {"BC1", VK_FORMAT_BC1_RGBA_UNORM_BLOCK, CU_AD_FORMAT_BC1_UNORM, 4, 8, 2.0 / 255},
    {"BC1 sRGB", VK_FORMAT_BC1_RGBA_SRGB_BLOCK, CU_AD_FORMAT_BC1_UNORM_SRGB, 4, 8, 4.0 / 255},
    {"BC2", VK_FORMAT_BC2_UNORM_BLOCK, CU_AD_FORMAT_BC2_UNORM, 4, 16, 2.0 / 255},
    {"BC3", VK_FORMAT_BC3_UNORM_BLOCK, CU_AD_FORMAT_BC3_UNORM, 4, 16, 2.0 / 255},
    {"BC4", VK_FORMAT_BC4_UNORM_BLOCK, CU_AD_FORMAT_BC4_UNORM, 1, 8, 2.0 / 255},
    {"BC4 signed", VK_FORMAT_BC4_SNORM_BLOCK, CU_AD_FORMAT_BC4_SNORM, 1, 8, 2.0 / 127},
    {"BC5", VK_FORMAT_BC5_UNORM_BLOCK, CU_AD_FORMAT_BC5_UNORM, 2, 16, 2.0 / 255},
    {"BC5 signed", VK_FORMAT_BC5_SNORM_BLOCK, CU_AD_FORMAT_BC5_SNORM, 2, 16, 2.0 / 127},
    {"BC6H", VK_FORMAT_BC6H_UFLOAT_BLOCK, CU_AD_FORMAT_BC6H_UF16, 3, 16, 0},
    {"BC6H signed", VK_FORMAT_BC6H_SFLOAT_BLOCK, CU_AD_FORMAT_BC6H_SF16, 3, 16, 0},
    {"BC7", VK_FORMAT_BC7_UNORM_BLOCK, CU_AD_FORMAT_BC7_UNORM, 4, 16, 1e-7},
    {"BC7 sRGB", VK_FORMAT_BC7_SRGB_BLOCK, CU_AD_FORMAT_BC7_UNORM_SRGB, 4, 16, 1e-4},
};

static uint8_t blocks[BLOCKS * 16];
static float points[TEXELS][16], expected[TEXELS][4], got[TEXELS][4];

static void fill_blocks(uint32_t seed)
{
    for (unsigned i = 0; i < sizeof(blocks); i++) {
        seed = seed * 1664525u + 1013904223u;
        blocks[i] = (uint8_t)(seed >> 24);
    }
    /* All modes of BC7 are as frequent, for they stand in the lowest bit that is set; one is none.
     */
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i * 16] = (uint8_t)(blocks[i * 16] << i % 9);
}

/* ---- Vulkan ---- */

static void want_blocks(VkDeviceCreateInfo *info)
{
    static const VkPhysicalDeviceFeatures features = {.textureCompressionBC = VK_TRUE};

    info->pEnabledFeatures = &features;
}

static VkDeviceMemory make_memory(const struct small *s, VkMemoryRequirements r)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = r.size,
                                 .memoryTypeIndex = (uint32_t)__builtin_ctz(r.memoryTypeBits)};
    VkDeviceMemory memory;

    TRY(vkAllocateMemory(s->device, &info, NULL, &memory));
    return memory;
}

static VkImage make_image(const struct small *s, VkFormat format, VkDeviceMemory *memory)
{
    return small_image(s, format, SIDE,
                       VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, memory);
}

static VkBuffer make_buffer(const struct small *s, size_t size, VkDeviceMemory *memory, void **map)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements r;
    VkBuffer buffer;

    TRY(vkCreateBuffer(s->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(s->device, buffer, &r);
    *memory = make_memory(s, r);
    TRY(vkBindBufferMemory(s->device, buffer, *memory, 0));
    TRY(vkMapMemory(s->device, *memory, 0, VK_WHOLE_SIZE, 0, map));
    return buffer;
}

static void make_general(VkCommandBuffer commands, VkImage image)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                    .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                    .image = image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static void make_seen(VkCommandBuffer commands)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         0, 1, &barrier, 0, NULL, 0, NULL);
}

/* Into `expected`. What it makes stays until the device goes. */
static void decode_by_vulkan(const struct small *s, const struct format *f)
{
    const VkImageSubresourceLayers layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkBufferImageCopy whole = {.imageSubresource = layer, .imageExtent = {SIDE, SIDE, 1}};
    const VkImageBlit blit = {.srcSubresource = layer,
                              .srcOffsets = {{0, 0, 0}, {SIDE, SIDE, 1}},
                              .dstSubresource = layer,
                              .dstOffsets = {{0, 0, 0}, {SIDE, SIDE, 1}}};
    VkDeviceMemory memory[4];
    void *in, *out;
    VkBuffer given = make_buffer(s, sizeof(blocks), &memory[0], &in);
    VkBuffer result = make_buffer(s, sizeof(expected), &memory[1], &out);
    VkImage from = make_image(s, f->vulkan, &memory[2]);
    VkImage to = make_image(s, VK_FORMAT_R32G32B32A32_SFLOAT, &memory[3]);
    VkCommandBuffer commands = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    memcpy(in, blocks, sizeof(blocks));
    small_begin(commands);
    make_general(commands, from);
    make_general(commands, to);
    vkCmdCopyBufferToImage(commands, given, from, VK_IMAGE_LAYOUT_GENERAL, 1, &whole);
    make_seen(commands);
    vkCmdBlitImage(commands, from, VK_IMAGE_LAYOUT_GENERAL, to, VK_IMAGE_LAYOUT_GENERAL, 1, &blit,
                   VK_FILTER_NEAREST);
    make_seen(commands);
    vkCmdCopyImageToBuffer(commands, to, VK_IMAGE_LAYOUT_GENERAL, result, 1, &whole);
    TRY(vkEndCommandBuffer(commands));
    small_run(s, commands);
    memcpy(expected, out, sizeof(expected));
    vkDestroyImage(s->device, from, NULL);
    vkDestroyImage(s->device, to, NULL);
    vkDestroyBuffer(s->device, given, NULL);
    vkDestroyBuffer(s->device, result, NULL);
    for (unsigned k = 0; k < 4; k++)
        vkFreeMemory(s->device, memory[k], NULL);
}

/* ---- the software GPU ---- */

static CUarray make_array(const struct format *f)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = SIDE, .Height = SIDE, .Format = f->cuda, .NumChannels = f->channels};
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = blocks,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .WidthInBytes = (size_t)SIDE / 4 * f->block_size,
                          .Height = SIDE / 4};

    OK(cuArray3DCreate_v2(&copy.dstArray, &d));
    OK(cuMemcpy2D_v2(&copy));
    return copy.dstArray;
}

/* Into `got`. */
static void decode_by_texture(CUfunction kernel, CUdeviceptr in, CUdeviceptr out,
                              const struct format *f)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUtexObject texture = 0;

    r.res.array.hArray = make_array(f);
    OK(cuTexObjectCreate(&texture, &r, &t, NULL));
    for (unsigned y = 0; y < SIDE; y++) {
        CUdeviceptr row_in = in + y * SIDE * sizeof(points[0]);
        CUdeviceptr row_out = out + y * SIDE * sizeof(got[0]);
        void *arguments[] = {&texture, &row_in, &row_out};
        OK(cuLaunchKernel(kernel, 1, 1, 1, SIDE, 1, 1, 0, NULL, arguments, NULL));
    }
    OK(cuMemcpyDtoH_v2(got, out, sizeof(got)));
    OK(cuTexObjectDestroy(texture));
    OK(cuArrayDestroy(r.res.array.hArray));
}

static bool is_near(float a, float b, double tolerance)
{
    return (isnan(a) && isnan(b)) || a == b || fabs((double)a - (double)b) <= tolerance;
}

static void compare(const struct format *f)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < TEXELS; i++)
        for (unsigned k = 0; k < 4; k++)
            if (!is_near(expected[i][k], got[i][k], f->tolerance) && !wrong++)
                fprintf(stderr, "%s: texel %u, %u, component %u: %.9g, not %.9g\n", f->name,
                        i % SIDE, i / SIDE, k, (double)got[i][k], (double)expected[i][k]);
    CHECK_EQ_INT(wrong, 0);
}

int main(void)
{
    struct small small;
    CUmodule module = NULL;
    CUfunction kernel = NULL;
    CUdeviceptr in = 0, out = 0;

    small_device = want_blocks;
    small_init(&small, 0);
    test_context();
    OK(cuModuleLoadData(&module, PTX_HEAD_TEXTURES TEX_KERNELS));
    OK(cuModuleGetFunction(&kernel, module, "fetch2d"));
    OK(cuMemAlloc_v2(&in, sizeof(points)));
    OK(cuMemAlloc_v2(&out, sizeof(got)));
    for (unsigned i = 0; i < TEXELS; i++) {
        points[i][0] = (float)(i % SIDE);
        points[i][1] = (float)(i / SIDE);
    }
    OK(cuMemcpyHtoD_v2(in, points, sizeof(points)));
    for (unsigned k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
        fill_blocks(k + 1);
        decode_by_vulkan(&small, &formats[k]);
        decode_by_texture(kernel, in, out, &formats[k]);
        compare(&formats[k]);
    }
    small_finish(&small);
    return check_result();
}
