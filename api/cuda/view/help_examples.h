/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of CUDA calls for help pages of commands that know no API.
 */
#ifndef API_CUDA_VIEW_HELP_EXAMPLES_H
#define API_CUDA_VIEW_HELP_EXAMPLES_H

#define CUDA_EXAMPLE_COPIES   "cuMemcpy*"
#define CUDA_EXAMPLE_LAUNCHES "cuLaunch*"

#endif
