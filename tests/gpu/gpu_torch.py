# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a few training steps of a small network, deterministic algorithms."""
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
data, target = torch.randn(256, 64).cuda(), torch.randint(0, 10, (256,)).cuda()
for step in range(4):
    optimiser.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(data), target)
    loss.backward()
    optimiser.step()
    print(f"torch: step {step} loss {loss.item():.9g}")
