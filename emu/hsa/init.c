/* SPDX-License-Identifier: Apache-2.0
 *
 * Start and end, and what the system says of itself.
 */
#include "emu/hsa/runtime.h"
#include "emu/hsa/sandbox/sandbox.h"

#include <string.h>

EMU_HSA_EXPORT hsa_status_t hsa_init(void)
{
    return emu_hsa_machine_begin() ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_REFCOUNT_OVERFLOW;
}

EMU_HSA_EXPORT hsa_status_t hsa_shut_down(void)
{
    unsigned users = emu_hsa_machine_end();

    if (users == 1 && emu_hsa_sandbox_is_used())
        emu_hsa_sandbox_end();
    return users ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_NOT_INITIALIZED;
}

EMU_HSA_EXPORT hsa_status_t hsa_status_string(hsa_status_t status, const char **status_string)
{
    if (!status_string)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *status_string = status == HSA_STATUS_SUCCESS      ? "HSA_STATUS_SUCCESS: it went well"
                     : status == HSA_STATUS_INFO_BREAK ? "HSA_STATUS_INFO_BREAK: a callback stopped"
                                                       : "an error: the number says which";
    return HSA_STATUS_SUCCESS;
}

/* ---- the system --------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void *out)
{
    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (!out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
        EMU_HSA_GIVE(uint16_t, 1);
        break;
    case HSA_SYSTEM_INFO_VERSION_MINOR:
        EMU_HSA_GIVE(uint16_t, 1);
        break;
    case HSA_SYSTEM_INFO_TIMESTAMP:
        EMU_HSA_GIVE(uint64_t, emu_hsa_time());
        break;
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
        EMU_HSA_GIVE(uint64_t, 1000000000u);
        break;
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT:
        EMU_HSA_GIVE(uint64_t, UINT64_MAX);
        break;
    case HSA_SYSTEM_INFO_ENDIANNESS:
        EMU_HSA_GIVE(hsa_endianness_t, HSA_ENDIANNESS_LITTLE);
        break;
    case HSA_SYSTEM_INFO_MACHINE_MODEL:
        EMU_HSA_GIVE(hsa_machine_model_t, HSA_MACHINE_MODEL_LARGE);
        break;
    case HSA_SYSTEM_INFO_EXTENSIONS:
        memset(out, 0, 128);
        *(uint8_t *)out |= 1u << HSA_EXTENSION_IMAGES;
        break;
    case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED:
    case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT:
        EMU_HSA_GIVE(bool, attribute == (hsa_system_info_t)HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED);
        break;
    case HSA_AMD_LATER_SYSTEM_DMABUF:
    case HSA_AMD_LATER_SYSTEM_VIRTUAL:
    case HSA_AMD_LATER_SYSTEM_XNACK:
        EMU_HSA_GIVE(bool, attribute != (hsa_system_info_t)HSA_AMD_LATER_SYSTEM_XNACK);
        break;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major,
                                                           uint16_t minor, bool *result)
{
    if (!result)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = extension == HSA_EXTENSION_IMAGES && major == 1 && minor == 0;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_system_major_extension_supported(uint16_t extension, uint16_t major,
                                                                 uint16_t *minor, bool *result)
{
    if (minor)
        *minor = 0;
    return hsa_system_extension_supported(extension, major, 0, result);
}

/* Images of version 1. */
static hsa_status_t give_images(uint16_t extension, uint16_t major, void *table, size_t size)
{
    static const hsa_ext_images_1_pfn_t images = {
        .hsa_ext_image_get_capability = hsa_ext_image_get_capability,
        .hsa_ext_image_data_get_info = hsa_ext_image_data_get_info,
        .hsa_ext_image_create = hsa_ext_image_create,
        .hsa_ext_image_destroy = hsa_ext_image_destroy,
        .hsa_ext_image_copy = hsa_ext_image_copy,
        .hsa_ext_image_import = hsa_ext_image_import,
        .hsa_ext_image_export = hsa_ext_image_export,
        .hsa_ext_image_clear = hsa_ext_image_clear,
        .hsa_ext_sampler_create = hsa_ext_sampler_create,
        .hsa_ext_sampler_destroy = hsa_ext_sampler_destroy,
        .hsa_ext_image_get_capability_with_layout = hsa_ext_image_get_capability_with_layout,
        .hsa_ext_image_data_get_info_with_layout = hsa_ext_image_data_get_info_with_layout,
        .hsa_ext_image_create_with_layout = hsa_ext_image_create_with_layout};

    if (!table || extension != HSA_EXTENSION_IMAGES || major != 1)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    memcpy(table, &images, size < sizeof(images) ? size : sizeof(images));
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_system_get_extension_table(uint16_t extension, uint16_t major,
                                                           uint16_t minor, void *table)
{
    return give_images(extension, major, table, sizeof(hsa_ext_images_1_00_pfn_t));
}

EMU_HSA_EXPORT hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t major,
                                                                 size_t size, void *table)
{
    return give_images(extension, major, table, size);
}
