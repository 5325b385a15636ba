/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of C++ functions as people write them. C++'s library does it, where it is installed.
 */
#ifndef TOOLS_TEXT_DEMANGLE_H
#define TOOLS_TEXT_DEMANGLE_H

/* Returns "add(float*, int)" for "_Z3addPfi", and for "_Z3addPfi.kd", as HSA calls a kernel; to be
 * freed. NULL: the name is none of C++'s, or cannot be read. One thread. */
char *tsm_demangle(const char *name);

#endif
