/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads one image of device code that the program registered.
 */
#ifndef EMU_CUDART_IMAGE_H
#define EMU_CUDART_IMAGE_H

#include "emu/cudart/abi.h"

/* Layout of nvcc. */
struct cudart_wrapper {
    int magic;
    int version;         /* 2: linked of several images */
    const void *fatbin;  /* PTX and machine code for several devices */
    const void **linked; /* version 2: the images, which are relocatable; ends with NULL */
};

/* Loads an image as a library of the driver. Writes a line that names the remedy if that fails. */
CUresult cudart_image_load(CUlibrary *out, const struct cudart_wrapper *wrapper);

#endif
