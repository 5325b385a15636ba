# SPDX-License-Identifier: Apache-2.0
"""Triton: one kernel, compiled at run time."""
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)


x = torch.arange(5000, device="cuda", dtype=torch.float32)
out = torch.empty_like(x)
add[(5,)](x, x * 3, out, x.numel(), BLOCK=1024)
print("triton:", float(out.cpu().double().sum()))
