/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways to reach Vulkan other than being linked with the loader: "loader" by dlopen(), "deepbind"
 * the same in a namespace of its own, "driver FILE" past the loader. Makes an instance and a
 * device, fills a buffer, says how many commands it sent.
 */
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr get;

#define OF_INSTANCE(instance, name) ((PFN_##name)get(instance, #name))

static void need(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void open_library(const char *path, int mode, const char *name)
{
    void *library = dlopen(path, mode);

    if (!library)
        exit(77);
    get = (PFN_vkGetInstanceProcAddr)dlsym(library, name);
    need(get != NULL, "no vkGetInstanceProcAddr");
}

static VkInstance make_instance(void)
{
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    VkInstance instance;

    need(OF_INSTANCE(NULL, vkCreateInstance)(&info, NULL, &instance) == VK_SUCCESS, "no instance");
    return instance;
}

static VkDevice make_device(VkInstance instance)
{
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkPhysicalDevice physical;
    VkDevice device;
    uint32_t count = 1;

    need(OF_INSTANCE(instance, vkEnumeratePhysicalDevices)(instance, &count, &physical) >= 0 &&
             count == 1,
         "no physical device");
    need(OF_INSTANCE(instance, vkCreateDevice)(physical, &info, NULL, &device) == VK_SUCCESS,
         "no device");
    return device;
}

static void send(VkInstance instance, VkDevice device)
{
    PFN_vkGetDeviceProcAddr find = OF_INSTANCE(instance, vkGetDeviceProcAddr);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    VkQueue queue;

    ((PFN_vkGetDeviceQueue)find(device, "vkGetDeviceQueue"))(device, 0, 0, &queue);
    for (int i = 0; i < 3; i++)
        need(((PFN_vkQueueSubmit)find(device, "vkQueueSubmit"))(queue, 1, &submit,
                                                                VK_NULL_HANDLE) == VK_SUCCESS,
             "no submit");
    need(((PFN_vkQueueWaitIdle)find(device, "vkQueueWaitIdle"))(queue) == VK_SUCCESS, "no wait");
    need(!find(device, "vkNoSuchFunction") && !find(device, "vkCmdPushDescriptorSetKHR"),
         "a function of an extension that was not asked for");
    ((PFN_vkDestroyDevice)find(device, "vkDestroyDevice"))(device, NULL);
}

int main(int argc, char **argv)
{
    VkInstance instance;

    need(argc >= 2, "how?");
    if (strcmp(argv[1], "driver") == 0)
        open_library(argv[2], RTLD_NOW | RTLD_LOCAL, "vk_icdGetInstanceProcAddr");
    else
        open_library("libvulkan.so.1",
                     RTLD_NOW | (strcmp(argv[1], "deepbind") == 0 ? RTLD_DEEPBIND : 0),
                     "vkGetInstanceProcAddr");
    for (int i = 0; i < 2; i++) {
        instance = make_instance();
        send(instance, make_device(instance));
        OF_INSTANCE(instance, vkDestroyInstance)(instance, NULL);
    }
    puts("6 submits");
    return 0;
}
