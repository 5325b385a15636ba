/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim of libroctx64: see shim.c.
 */
extern void roctxMarkA(const char *message);

__attribute__((used)) static void (*const dependency)(const char *message) = roctxMarkA;
