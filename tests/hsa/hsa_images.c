/* SPDX-License-Identifier: Apache-2.0
 *
 * Images by the extension's table, as programs get at them: there are none, but the call is made.
 */
#include "tests/hsa/hsa_helper.h"

#include <stdio.h>

int main(void)
{
    hsa_ext_images_1_pfn_t images = {0};
    hsa_ext_sampler_descriptor_t about = {0};
    hsa_ext_sampler_t sampler;

    HSA_CHECK(hsa_init());
    HSA_CHECK(
        hsa_system_get_major_extension_table(HSA_EXTENSION_IMAGES, 1, sizeof(images), &images));
    printf("0x%x\n", images.hsa_ext_sampler_create((hsa_agent_t){0}, &about, &sampler));
    HSA_CHECK(hsa_shut_down());
    return 0;
}
