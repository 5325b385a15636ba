/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of Vulkan against a driver that notes what it is called with: what no lavapipe can show
 * (other memory types, devices that lack something, a lost device), and traces that lie.
 */
#include "api/vulkan/replay/extensions.h"
#include "tests/unit/check.h"
#include "tests/unit/vulkan/vulkan_fake_driver.h"
#include "tests/unit/vulkan/vulkan_trace.h"
#include "tracesmith/replay.h"

#include <dlfcn.h>
#include <stdlib.h>

static struct fake *fake;
static const char *driver;
static struct tsm_replay_result result;

/* The verdict, or the error that refused it. */
static int replay(struct vulkan_trace *t, enum tsm_grain grain)
{
    struct tsm_replay_options options = {
        .library = driver, .grain = grain, .timeout_ns = 1000000000};
    struct tsm_replay *replay = NULL;
    struct sbt_reader *reader = NULL;
    int error;

    trace_end(t);
    memset(fake->log, 0, sizeof(fake->log));
    memset(&result, 0, sizeof(result));
    CHECK_EQ_INT(sbt_reader_open(&reader, t->path), 0);
    error = tsm_replay_create(&replay, reader, &options);
    if (!error)
        error = tsm_replay_run(replay, &result);
    tsm_replay_destroy(replay);
    sbt_reader_destroy(reader);
    remove(t->path);
    if (!t->damage_seq)
        CHECK_EQ_INT(fake->live, 0); /* nothing is left behind, also where it was refused */
    fake->live = 0;
    return error ? error : (int)result.verdict;
}

static bool said(const char *text)
{
    bool has = strstr(fake->log, text) != NULL;

    if (!has)
        fprintf(stderr, "not called: %s\nbut:\n%s", text, fake->log);
    return has;
}

static bool refused(struct vulkan_trace *t, int error, const char *message)
{
    int got = replay(t, TSM_GRAIN_READBACK);
    bool has = strstr(tsm_error_message(), message) != NULL;

    CHECK_EQ_INT(got, error);
    if (!has)
        fprintf(stderr, "not said: %s\nbut: %s\n", message, tsm_error_message());
    return has;
}

/* ---- parts of programs ------------------------------------------------------------------- */

static void allocate(struct vulkan_trace *t, uint64_t id, uint32_t type, uint64_t size)
{
    VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, size, type};

    PUT(t, vkAllocateMemory, ID(VkDevice, 1), &info, NULL, (VkDeviceMemory *)&id);
}

static void map(struct vulkan_trace *t, uint64_t id, uint64_t offset, uint64_t address)
{
    PUT(t, vkMapMemory, ID(VkDevice, 1), ID(VkDeviceMemory, id), offset, VK_WHOLE_SIZE, 0,
        (void **)&address);
}

static void buffer(struct vulkan_trace *t, uint64_t id, uint64_t size, uint32_t usage)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};

    PUT(t, vkCreateBuffer, ID(VkDevice, 1), &info, NULL, (VkBuffer *)&id);
}

static void bind(struct vulkan_trace *t, uint64_t id, uint64_t memory, uint64_t offset)
{
    PUT(t, vkBindBufferMemory, ID(VkDevice, 1), ID(VkBuffer, id), ID(VkDeviceMemory, memory),
        offset);
}

static void commands(struct vulkan_trace *t)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = ID(VkCommandPool, 1),
                                        .commandBufferCount = 1};
    uint64_t one = 1;

    PUT(t, vkCreateCommandPool, ID(VkDevice, 1), &pool, NULL, (VkCommandPool *)&one);
    PUT(t, vkAllocateCommandBuffers, ID(VkDevice, 1), &info, (VkCommandBuffer *)&one);
}

static void semaphore(struct vulkan_trace *t, uint64_t id, bool timeline)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = timeline ? &type : NULL};

    PUT(t, vkCreateSemaphore, ID(VkDevice, 1), &info, NULL, (VkSemaphore *)&id);
}

static void fence(struct vulkan_trace *t, uint64_t id)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    PUT(t, vkCreateFence, ID(VkDevice, 1), &info, NULL, (VkFence *)&id);
}

static void submit(struct vulkan_trace *t, VkFence with)
{
    VkCommandBuffer buffers = ID(VkCommandBuffer, 1);
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &buffers};

    PUT(t, vkQueueSubmit, ID(VkQueue, 1), 1, &info, with);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* The recording's type 0 is the fake's type 1, and 1 is 0; layers are left out. */
static void test_types(void)
{
    struct vulkan_trace t;
    uint8_t bytes[64];

    memset(bytes, 5, sizeof(bytes));
    trace_begin(&t, "types");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    allocate(&t, 2, 1, 8192);
    allocate(&t, 3, 2, 100);
    map(&t, 1, 0, 0x70000000);
    trace_write(&t, 0x70000040, bytes, sizeof(bytes));
    commands(&t);
    submit(&t, VK_NULL_HANDLE);
    trace_checksum(&t, 1, 0x40, 5, 64);
    trace_checksum(&t, 1, 0, 0, 64);     /* what nobody wrote is zero */
    trace_checksum(&t, 2, 4000, 0, 100); /* ... also where the host cannot look */
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_SAME);
    CHECK_EQ_INT((long long)result.checksum_count, 3);
    CHECK(said("vkCreateInstance 0 layers\n"));
    CHECK(said("vkAllocateMemory 4096 bytes type 1\n"));
    CHECK(said("vkAllocateMemory 8192 bytes type 0\n"));
    CHECK(said("vkAllocateMemory 100 bytes type 1\n"));
    CHECK(said("vkCmdFillBuffer 8192 bytes of 0x0\n"));
    CHECK(said("vkCmdCopyBuffer 100 bytes\n"));
}

/* A mapping from the middle of the memory on; what capture writes around it; a second mapping. */
static void test_mappings(void)
{
    struct vulkan_trace t;
    uint8_t bytes[64];

    trace_begin(&t, "mappings");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    allocate(&t, 2, 0, 4096);
    map(&t, 1, 1024, 0x70000400);
    memset(bytes, 1, sizeof(bytes));
    trace_write(&t, 0x70000000, bytes, sizeof(bytes));
    memset(bytes, 2, sizeof(bytes));
    trace_write(&t, 0x70000400, bytes, sizeof(bytes));
    map(&t, 2, 0, 0x70000000);
    memset(bytes, 3, sizeof(bytes));
    trace_write(&t, 0x70000400, bytes, sizeof(bytes));
    commands(&t);
    submit(&t, VK_NULL_HANDLE);
    trace_checksum(&t, 1, 0, 1, 64);
    trace_checksum(&t, 1, 1024, 2, 64);
    trace_checksum(&t, 2, 1024, 3, 64);
    trace_write(&t, 0x123, bytes, sizeof(bytes)); /* nobody's: nothing happens */
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_SAME);
    CHECK_EQ_INT((long long)result.checksum_count, 3);
}

static void test_different(void)
{
    struct vulkan_trace t;

    trace_begin(&t, "different");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    buffer(&t, 7, 64, 0);
    bind(&t, 7, 1, 256);
    commands(&t);
    submit(&t, VK_NULL_HANDLE);
    trace_checksum(&t, 1, 256, 9, 64);
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_DIFFERENT);
    CHECK(strstr(result.why, "vkQueueSubmit on stream 0 (position 1)"));
    CHECK(strstr(result.why, "VkDeviceMemory #1 + 0x100 (VkBuffer #7 + 0x0)"));
}

/* The program got an address that is another one here. */
static void test_addresses(void)
{
    VkBufferDeviceAddressInfo ask = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                     .buffer = ID(VkBuffer, 1)};
    struct vulkan_trace t;

    for (fake->address_base = 0; fake->address_base < 2; fake->address_base++) {
        trace_begin(&t, "addresses");
        trace_device(&t, NULL);
        allocate(&t, 1, 0, 4096);
        buffer(&t, 1, 64, VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
        bind(&t, 1, 1, 0);
        t.result = 0x1000;
        PUT(&t, vkGetBufferDeviceAddress, ID(VkDevice, 1), &ask);
        commands(&t);
        submit(&t, VK_NULL_HANDLE);
        trace_checksum(&t, 1, 0, 0, 64);
        CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_SAME);
        CHECK_EQ_INT((long long)result.translated_count, fake->address_base);
    }
    fake->address_base = 0;
}

static void test_alignment(void)
{
    struct vulkan_trace t;

    trace_begin(&t, "alignment");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    buffer(&t, 1, 64, 0);
    bind(&t, 1, 1, 64);
    fake->alignment = 256;
    CHECK(refused(&t, TSM_E_UNSUPPORTED,
                  "VkBuffer #1, bound to its memory at 0x40, must be aligned "
                  "to 256 here"));
    fake->alignment = 0;
}

/* ---- order ------------------------------------------------------------------------------- */

static void test_fences(void)
{
    struct vulkan_trace t;
    VkFence one = ID(VkFence, 1);

    trace_begin(&t, "fences");
    trace_device(&t, NULL);
    commands(&t);
    fence(&t, 1);
    submit(&t, one);
    t.result = VK_NOT_READY;
    PUT(&t, vkGetFenceStatus, ID(VkDevice, 1), one);
    t.result = VK_TIMEOUT;
    PUT(&t, vkWaitForFences, ID(VkDevice, 1), 1, &one, VK_TRUE, 5);
    PUT(&t, vkGetFenceStatus, ID(VkDevice, 1), one);
    PUT(&t, vkWaitForFences, ID(VkDevice, 1), 1, &one, VK_TRUE, 5);
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_NOTHING_TO_COMPARE);
    CHECK(said("vkQueueSubmit 0 waits 1 buffers 0 signals fence\n"
               "vkWaitForFences 1 for ever\nvkWaitForFences 1 for ever\n"));
}

/* Work waits for what the host will signal: nothing may wait for the queue before that. */
static void test_host_signal(void)
{
    VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                    .semaphore = ID(VkSemaphore, 1),
                                    .value = 3};
    VkSemaphore wait = ID(VkSemaphore, 1);
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    uint64_t value = 3;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = 1,
                         .pWaitSemaphores = &wait,
                         .pWaitDstStageMask = &stage};
    struct vulkan_trace t;

    trace_begin(&t, "host_signal");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    semaphore(&t, 1, true);
    PUT(&t, vkQueueSubmit, ID(VkQueue, 1), 1, &info, VK_NULL_HANDLE);
    trace_checksum(&t, 1, 0, 0, 64);
    PUT(&t, vkSignalSemaphore, ID(VkDevice, 1), &signal);
    trace_checksum(&t, 1, 0, 0, 64);
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_SAME);
    CHECK(
        said("vkQueueSubmit 1 waits 0 buffers 0 signals\nvkSignalSemaphore 3\nvkDeviceWaitIdle\n"));
}

/* The last one: the driver does not come back. */
static void test_hang(void)
{
    VkFence one = ID(VkFence, 1);
    struct vulkan_trace t;

    trace_begin(&t, "hang");
    trace_device(&t, NULL);
    commands(&t);
    fence(&t, 1);
    submit(&t, one);
    PUT(&t, vkWaitForFences, ID(VkDevice, 1), 1, &one, VK_TRUE, 5);
    t.damage_seq = UINT64_MAX; /* what lives then is the driver's */
    fake->hangs = true;
    CHECK(refused(&t, TSM_E_DEVICE,
                  "record 8, vkWaitForFences, has not returned; last on stream 0: "
                  "record 7, vkQueueSubmit (position 1)"));
}

static void test_lost(void)
{
    struct vulkan_trace t;

    trace_begin(&t, "lost");
    trace_device(&t, NULL);
    commands(&t);
    submit(&t, VK_NULL_HANDLE);
    fake->is_lost = true;
    CHECK(refused(&t, TSM_E_DEVICE,
                  "vkQueueSubmit: gave VK_ERROR_DEVICE_LOST; last on stream 0: "
                  "record 6, vkQueueSubmit (position 1)"));
    fake->is_lost = false;
}

/* ---- windows ----------------------------------------------------------------------------- */

static void swapchain(struct vulkan_trace *t)
{
    VkHeadlessSurfaceCreateInfoEXT surface = {
        .sType = VK_STRUCTURE_TYPE_HEADLESS_SURFACE_CREATE_INFO_EXT};
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                     .surface = ID(VkSurfaceKHR, 1),
                                     .imageFormat = VK_FORMAT_R8G8B8A8_UNORM,
                                     .imageExtent = {8, 8},
                                     .imageArrayLayers = 1};
    uint64_t one = 1, images[2] = {5, 6};
    uint32_t count = 2;

    PUT(t, vkCreateHeadlessSurfaceEXT, ID(VkInstance, 1), &surface, NULL, (VkSurfaceKHR *)&one);
    PUT(t, vkCreateSwapchainKHR, ID(VkDevice, 1), &info, NULL, (VkSwapchainKHR *)&one);
    PUT(t, vkGetSwapchainImagesKHR, ID(VkDevice, 1), ID(VkSwapchainKHR, 1), &count, NULL);
    PUT(t, vkGetSwapchainImagesKHR, ID(VkDevice, 1), ID(VkSwapchainKHR, 1), &count,
        (VkImage *)images);
}

static void test_window(void)
{
    VkSemaphore acquired = ID(VkSemaphore, 1);
    VkSwapchainKHR chain = ID(VkSwapchainKHR, 1);
    uint32_t index = 1;
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &acquired,
                                .swapchainCount = 1,
                                .pSwapchains = &chain,
                                .pImageIndices = &index};
    struct vulkan_trace t;

    trace_begin(&t, "window");
    trace_device(&t, NULL);
    swapchain(&t);
    semaphore(&t, 1, false);
    PUT(&t, vkAcquireNextImageKHR, ID(VkDevice, 1), chain, 1000, acquired, VK_NULL_HANDLE, &index);
    PUT(&t, vkQueuePresentKHR, ID(VkQueue, 1), &present);
    PUT(&t, vkDestroySemaphore, ID(VkDevice, 1), acquired, NULL);
    PUT(&t, vkDestroySwapchainKHR, ID(VkDevice, 1), chain, NULL);
    PUT(&t, vkDestroySurfaceKHR, ID(VkInstance, 1), ID(VkSurfaceKHR, 1), NULL);
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_SYNC), TSM_NOTHING_TO_COMPARE);
    CHECK(said("vkAllocateMemory 256 bytes"));
    CHECK(said(
        "vkQueueSubmit 0 waits 0 buffers 1 signals\nvkQueueSubmit 1 waits 0 buffers 0 signals\n"
        "vkDeviceWaitIdle\nvkDestroySemaphore\n")); /* the program did not wait for that submit */
}

/* A program waits for the fence of an image that it has presented before it uses it again. */
static void test_presented_fence(void)
{
    VkSwapchainKHR chain = ID(VkSwapchainKHR, 1);
    VkFence one = ID(VkFence, 1);
    uint32_t index = 1;
    VkSwapchainPresentFenceInfoEXT fences = {.sType =
                                                 VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT,
                                             .swapchainCount = 1,
                                             .pFences = &one};
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .pNext = &fences,
                                .swapchainCount = 1,
                                .pSwapchains = &chain,
                                .pImageIndices = &index};
    struct vulkan_trace t;

    trace_begin(&t, "presented");
    trace_device(&t, NULL);
    swapchain(&t);
    fence(&t, 1);
    PUT(&t, vkQueuePresentKHR, ID(VkQueue, 1), &present);
    PUT(&t, vkWaitForFences, ID(VkDevice, 1), 1, &one, VK_TRUE, 5);
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_SYNC), TSM_NOTHING_TO_COMPARE);
    CHECK(said("vkQueueSubmit fence\nvkWaitForFences 1 for ever\n"));
}

/* ---- devices that lack something --------------------------------------------------------- */

static void test_missing(void)
{
    const char *extensions[] = {"VK_KHR_swapchain", "VK_EXT_of_another_driver"};
    VkPhysicalDeviceFeatures features = {.shaderInt64 = VK_TRUE, .shaderFloat64 = VK_TRUE};
    float priorities[3] = {1, 1, 1};
    VkDeviceQueueCreateInfo queues[2] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueCount = 3,
                                          .pQueuePriorities = priorities},
                                         {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = 2,
                                          .queueCount = 1,
                                          .pQueuePriorities = priorities}};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .queueCreateInfoCount = 2,
                                 .pQueueCreateInfos = queues,
                                 .enabledExtensionCount = 2,
                                 .ppEnabledExtensionNames = extensions,
                                 .pEnabledFeatures = &features};
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {100, 100, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT};
    VkBufferViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                   .buffer = ID(VkBuffer, 1),
                                   .format = VK_FORMAT_R8G8B8A8_UNORM,
                                   .range = VK_WHOLE_SIZE};
    uint64_t one = 1;
    struct vulkan_trace t;

    trace_begin(&t, "missing");
    trace_device(&t, &device);
    PUT(&t, vkCreateImage, ID(VkDevice, 1), &image, NULL, (VkImage *)&one);
    PUT(&t, vkCreateBufferView, ID(VkDevice, 1), &view, NULL, (VkBufferView *)&one);
    PUT(&t, vkCmdDispatch, ID(VkCommandBuffer, 1), 101, 1, 1);
    CHECK(
        refused(&t, TSM_E_UNSUPPORTED,
                "fake lacks what the trace needs: VK_EXT_of_another_driver, feature "
                "shaderFloat64, 3 queues of family 0 (there are 1), queue family 2 (there are 1), "
                "images of 100x100x1, VK_FORMAT_R8G8B8A8_UNORM in buffer views, 101 groups along x "
                "(there are 100)"));
    CHECK(strstr(fake->log, "vkCreateDevice") == NULL);
}

/* Extensions and features of windows go where they are not there, whatever their number and age. */
static void test_windows(void)
{
    const char *extensions[] = {"VK_KHR_swapchain",       "VK_KHR_swapchain_maintenance1",
                                "VK_KHR_present_id2",     "VK_EXT_present_timing",
                                "VK_EXT_display_control", "VK_KHR_shared_presentable_image"};
    VkPhysicalDevicePresentIdFeaturesKHR id = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR, .presentId = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .pNext = &id};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .pNext = &timeline,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .enabledExtensionCount = 6,
                                 .ppEnabledExtensionNames = extensions};
    struct vulkan_trace t;

    trace_begin(&t, "windows");
    trace_device(&t, &device);
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_SYNC), TSM_NOTHING_TO_COMPARE);
    CHECK(said("vkCreateDevice 1 extensions, 1 structs\n"));
    CHECK(vkr_is_dispensable("VK_KHR_surface_maintenance1"));
    CHECK(vkr_is_dispensable("VK_EXT_headless_surface"));
    CHECK(vkr_is_dispensable("VK_KHR_get_surface_capabilities2"));
    CHECK(vkr_is_dispensable("VK_EXT_debug_utils"));
    CHECK(!vkr_is_dispensable("VK_NV_representative_fragment_test"));
    CHECK(!vkr_is_dispensable("VK_KHR_maintenance1"));
    CHECK(vkr_is_of_windows("VkPhysicalDeviceImageCompressionControlSwapchainFeaturesEXT"));
    CHECK(!vkr_is_of_windows("VkPhysicalDeviceRepresentativeFragmentTestFeaturesNV"));
}

/* ---- traces that lie --------------------------------------------------------------------- */

static void test_handles(void)
{
    struct vulkan_trace t;

    trace_begin(&t, "never");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    bind(&t, 4711, 1, 0);
    CHECK(refused(&t, TSM_E_FORMAT, "names VkBuffer #4711, which was not made, or is gone"));

    /* Bits of a type in an id: VkCommandPool #1 is no buffer. */
    trace_begin(&t, "far");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    commands(&t);
    bind(&t, (uint64_t)(VK_OBJECT_VkCommandPool - VK_OBJECT_VkBuffer) << 48 | 1, 1, 0);
    CHECK(refused(&t, TSM_E_FORMAT, "names VkBuffer #1125899906842625, which was not made"));

    trace_begin(&t, "gone");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    buffer(&t, 1, 64, 0);
    PUT(&t, vkDestroyBuffer, ID(VkDevice, 1), ID(VkBuffer, 1), NULL);
    bind(&t, 1, 1, 0);
    CHECK(refused(&t, TSM_E_FORMAT, "names VkBuffer #1, which was not made, or is gone"));

    trace_begin(&t, "pool");
    trace_device(&t, NULL);
    commands(&t);
    PUT(&t, vkDestroyCommandPool, ID(VkDevice, 1), ID(VkCommandPool, 1), NULL);
    submit(&t, VK_NULL_HANDLE);
    CHECK(refused(&t, TSM_E_FORMAT, "names VkCommandBuffer #1, which was not made, or is gone"));

    trace_begin(&t, "device");
    trace_device(&t, NULL);
    PUT(&t, vkDestroyDevice, ID(VkDevice, 1), NULL);
    PUT(&t, vkDeviceWaitIdle, ID(VkDevice, 1));
    fence(&t, 1);
    CHECK(refused(&t, TSM_E_FORMAT, "names VkDevice #1, which was not made, or is gone"));

    trace_begin(&t, "nobody");
    trace_device(&t, NULL);
    PUT(&t, vkEndCommandBuffer, VK_NULL_HANDLE);
    CHECK(refused(&t, TSM_E_FORMAT, "its arguments are malformed"));
}

static void test_spirv(void)
{
    static const uint32_t codes[][6] = {
        {0x07230203, 0x10000, 0, 1, 0, 0x00010000}, /* right: an OpNop */
        {0x07230203, 0x10000, 0, 1, 0, 0x00000000}, /* an instruction of no words */
        {0x07230203, 0x10000, 0, 1, 0, 0x00020000}, /* longer than the module */
        {0x03022307, 0x10000, 0, 1, 0, 0x00010000}, /* no magic */
    };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = sizeof(codes[i]),
                                         .pCode = codes[i]};
        uint64_t one = 1;
        struct vulkan_trace t;
        trace_begin(&t, "spirv");
        trace_device(&t, NULL);
        PUT(&t, vkCreateShaderModule, ID(VkDevice, 1), &info, NULL, (VkShaderModule *)&one);
        if (i == 0)
            CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_NOTHING_TO_COMPARE);
        else
            CHECK(refused(&t, TSM_E_FORMAT, "are no SPIR-V"));
    }
}

static void test_absurd(void)
{
    struct vulkan_trace t;
    uint64_t two = 2;

    trace_begin(&t, "queue");
    trace_device(&t, NULL);
    PUT(&t, vkGetDeviceQueue, ID(VkDevice, 1), 0, 1, (VkQueue *)&two);
    CHECK(refused(&t, TSM_E_FORMAT, "asks for queue 1 of family 0"));

    trace_begin(&t, "type");
    trace_device(&t, NULL);
    allocate(&t, 1, 29, 4096);
    CHECK(refused(&t, TSM_E_FORMAT, "there was no memory type 29"));

    trace_begin(&t, "map");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    map(&t, 1, 1ull << 62, 0x1000);
    CHECK(refused(&t, TSM_E_FORMAT, "maps what is behind its memory"));

    trace_begin(&t, "behind");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    commands(&t);
    submit(&t, VK_NULL_HANDLE);
    trace_checksum(&t, 1, 4090, 0, 64);
    CHECK(refused(&t, TSM_E_FORMAT, "memory #1 has 4096 bytes"));

    trace_begin(&t, "id");
    trace_device(&t, NULL);
    allocate(&t, 1ull << 40, 0, 4096);
    CHECK(refused(&t, TSM_E_FORMAT, "makes no new memory"));

    trace_begin(&t, "twice");
    trace_device(&t, NULL);
    allocate(&t, 1, 0, 4096);
    allocate(&t, 1, 0, 4096);
    CHECK(refused(&t, TSM_E_FORMAT, "makes no new memory"));
}

/* A bit of everything. */
static void write_all(struct vulkan_trace *t)
{
    static const uint32_t code[] = {0x07230203, 0x10000, 0, 1, 0, 0x00010000};
    VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                       .codeSize = sizeof(code),
                                       .pCode = code};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkFence one = ID(VkFence, 1);
    uint8_t bytes[64] = {1, 2, 3};
    uint64_t id = 1;

    trace_device(t, NULL);
    allocate(t, 1, 0, 4096);
    map(t, 1, 256, 0x70000000);
    trace_write(t, 0x70000000, bytes, sizeof(bytes));
    buffer(t, 1, 64, 0);
    bind(t, 1, 1, 0);
    commands(t);
    PUT(t, vkBeginCommandBuffer, ID(VkCommandBuffer, 1), &begin);
    PUT(t, vkCmdFillBuffer, ID(VkCommandBuffer, 1), ID(VkBuffer, 1), 0, 64, 0x04040404);
    PUT(t, vkEndCommandBuffer, ID(VkCommandBuffer, 1));
    PUT(t, vkCreateShaderModule, ID(VkDevice, 1), &module, NULL, (VkShaderModule *)&id);
    swapchain(t);
    semaphore(t, 1, true);
    fence(t, 1);
    submit(t, one);
    PUT(t, vkWaitForFences, ID(VkDevice, 1), 1, &one, VK_TRUE, 5);
    trace_checksum(t, 1, 0, 4, 64);
    PUT(t, vkDestroyBuffer, ID(VkDevice, 1), ID(VkBuffer, 1), NULL);
    PUT(t, vkFreeMemory, ID(VkDevice, 1), ID(VkDeviceMemory, 1), NULL);
}

/* Whatever one number is in place of the right one: refused, or an answer; nothing is followed. */
static void test_lies(void)
{
    struct vulkan_trace t;
    uint64_t count, how = 1;

    trace_begin(&t, "lies");
    write_all(&t);
    count = t.seq;
    CHECK_EQ_INT(replay(&t, TSM_GRAIN_READBACK), TSM_SAME);
    for (uint64_t i = 0; i < 12 * count; i++) {
        trace_begin(&t, "lies");
        t.damage_seq = i % count + 1;
        t.damage = how = how * 6364136223846793005u + 1442695040888963407u;
        t.damage >>= 20;
        write_all(&t);
        replay(&t, TSM_GRAIN_SYNC);
    }
}

int main(int argc, char **argv)
{
    void *handle = argc == 2 ? dlopen(driver = argv[1], RTLD_NOW) : NULL;
    fake_state_function *state = handle ? (fake_state_function *)dlsym(handle, "fake_state") : NULL;

    if (!state) {
        fprintf(stderr, "usage: vulkan_replay_test DRIVER\n");
        return 2;
    }
    fake = state();
    test_types();
    test_mappings();
    test_different();
    test_addresses();
    test_alignment();
    test_fences();
    test_host_signal();
    test_lost();
    test_window();
    test_presented_fence();
    test_missing();
    test_windows();
    test_handles();
    test_spirv();
    test_absurd();
    test_lies();
    test_hang();
    return check_result();
}
