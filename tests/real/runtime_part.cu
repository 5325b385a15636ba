/* SPDX-License-Identifier: Apache-2.0
 *
 * Device code of another file: see runtime.cu.
 */
__device__ int part_factor = 5;

__device__ int part_multiply(int x)
{
    return x * part_factor;
}
