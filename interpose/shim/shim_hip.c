/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim of HIP: see shim.c.
 */
extern unsigned int hipInit(unsigned int flags);

__attribute__((used)) static unsigned int (*const dependency)(unsigned int flags) = hipInit;
