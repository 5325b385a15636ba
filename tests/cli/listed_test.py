#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every script here is a registered test, and every expectation belongs to a script."""
import os
import sys

folder, listed = sys.argv[1], set(sys.argv[2:])
files = os.listdir(folder)
scripts = {f[:-3] for f in files if f.endswith(".sh")}
ends = (".exact", ".glob", ".ignore", ".exit")
stray = {f for f in files if f.endswith(ends) and f.split(".")[0] not in scripts}
if scripts != listed or stray:
    print("not registered, or without a script:", sorted(scripts ^ listed), sorted(stray))
    sys.exit(1)
