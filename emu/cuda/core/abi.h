/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver API as this library exports it: types, and the prototypes of all its functions with
 * default visibility, so that a definition that disagrees with the interface does not compile.
 */
#ifndef EMU_ABI_H
#define EMU_ABI_H

#pragma GCC visibility push(default)
#include "api/cuda/cuda_prototypes.h"
#pragma GCC visibility pop

#endif
