/* SPDX-License-Identifier: Apache-2.0
 *
 * A shim has no code. What it is: a SONAME, and the dependency on libts_capture.so; see
 * meson.build. The reference makes the linker keep that dependency.
 */
extern int cuInit(unsigned int flags);

__attribute__((used)) static int (*const dependency)(unsigned int flags) = cuInit;
