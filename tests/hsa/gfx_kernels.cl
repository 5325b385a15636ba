/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for an AMD GPU: never run here, but looked into. No library is needed.
 */
kernel void scale(global float *data, float factor)
{
    data[__builtin_amdgcn_workitem_id_x()] *= factor;
}

struct step {
    int by[5];
};

kernel void step(struct step p, global const int *from, local int *between, global int *to)
{
    between[0] = from[p.by[4]];
    to[0] = between[0];
}
