# SPDX-License-Identifier: Apache-2.0
"""Prints the system calls that a recording needs, as C. usage: needed.py SANDBOX.C"""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    print(re.search(r"needed\[\] = \{(.*?)\};", f.read(), re.DOTALL).group(1) + ",")
