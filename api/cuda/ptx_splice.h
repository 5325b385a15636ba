/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts kernels of other PTX texts into the place of a module's own, so that they use the module's
 * variables and functions by name.
 *
 * A variable of the other text that the module has, too, is the module's: both declarations must be
 * alike. Other names that clash are changed in the other text. Texts may be anybody's. Any thread.
 */
#ifndef API_CUDA_PTX_SPLICE_H
#define API_CUDA_PTX_SPLICE_H

#include <stdbool.h>
#include <stddef.h>

struct cuda_splice {
    const char *name; /* of the module's kernel, "saxpy" */
    const char *from; /* of that which takes its place */
    const char *path; /* of the text, for messages */
    const char *text; /* `size` bytes */
    size_t size;
};

/* Makes the module's text with these kernels in it, with a terminator: *out is the caller's to
 * free. All of one path are from one text. TSM_E_FORMAT: a text is not understood;
 * TSM_E_UNSUPPORTED: a declaration clashes. */
int cuda_ptx_splice(char **out, const char *module, size_t size, const struct cuda_splice *list,
                    size_t count);

/* Tests whether the text can only be used inside of the module: it names variables or functions
 * that the module has, or declares some that are elsewhere. Returns 1, 0 or an error. */
int cuda_ptx_needs_module(const struct cuda_splice *splice, const char *module, size_t size);

#endif
