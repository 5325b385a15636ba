/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the software GPU's libraries.
 */
#ifndef REPLAY_FIND_EMU_H
#define REPLAY_FIND_EMU_H

#include <stddef.h>

/* Path of `library` ("libcuda.so.1"), of at most `size` bytes: what the environment variable
 * `variable` says, or seen from the program, or from the library that this code is in (in a build
 * folder, where it was installed, wherever that was moved to), or where it would be installed. It
 * need not be there. */
void tsm_find_emu(char *out, size_t size, const char *library, const char *variable);

#endif
