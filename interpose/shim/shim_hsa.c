/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim of the HSA runtime: see shim.c.
 */
extern int hsa_init(void);

__attribute__((used)) static int (*const dependency)(void) = hsa_init;
