/* SPDX-License-Identifier: Apache-2.0
 *
 * A shim has no code. What it is: a SONAME, and the dependency on libts_capture.so; see meson.build.
 */
typedef int shim_is_empty;
