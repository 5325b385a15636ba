/* SPDX-License-Identifier: Apache-2.0
 *
 * clang-14 --target=nvptx64-nvidia-cuda -nogpulib -x cl -cl-std=CL2.0 -O2 -S -Xclang -target-cpu \
 *   -Xclang sm_70 basic.cl -o basic.ptx
 */
kernel void vadd(global const float *a, global const float *b, global float *c, uint n) {
  uint i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (i < n) c[i] = a[i] + b[i];
}
kernel void reduce(global const int *a, global int *out, uint n) {
  local int s[256];
  uint t = __nvvm_read_ptx_sreg_tid_x();
  uint i = __nvvm_read_ptx_sreg_ctaid_x() * 256 + t;
  s[t] = i < n ? a[i] : 0;
  __nvvm_bar_sync(0);
  for (uint k = 128; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __nvvm_bar_sync(0); }
  if (t == 0) __nvvm_atom_add_gen_i((volatile int*)out, s[0]);
}
kernel void collatz(global const uint *a, global uint *out) {
  uint t = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  uint x = a[t], n = 0;
  while (x != 1) { if (x & 1) { x = 3*x+1; if (n > 1000) break; } else x >>= 1; n++; for (uint j=0;j<(x&3);j++) n += (j==2); }
  out[t] = n;
}
