/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about images that the recorder and the software GPU share.
 */
#ifndef API_HSA_IMAGE_H
#define API_HSA_IMAGE_H

#include <stdint.h>

/* Bytes of a pixel (an element of the image) of hsa_ext_image_channel_type_t and ..._order_t; 0:
 * there are no such pixels. */
uint32_t hsa_image_pixel_size(uint32_t channel_type, uint32_t channel_order);

#endif
