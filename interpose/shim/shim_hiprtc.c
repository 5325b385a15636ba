/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim of HIP's runtime compiler: see shim.c.
 */
extern int hiprtcVersion(int *major, int *minor);

__attribute__((used)) static int (*const dependency)(int *major, int *minor) = hiprtcVersion;
