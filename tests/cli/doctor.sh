# SPDX-License-Identifier: Apache-2.0
# What a machine has differs; that each check says one of three words does not.
tracesmith doctor > text || test $? = 1
tracesmith doctor --json > json || test $? = 1
grep -E '^(ok|warn|missing) ' text | sed 's/^[a-z]* *//' | cut -c1-18 | sed 's| *$||' |
    grep -vx -e Vulkan -e DRM -e HSA # not in each build
python3 - <<'PYTHON'
import json
checks = json.load(open("json"))["checks"]
print(sorted({c["for"] for c in checks}), {c["status"] for c in checks} <= {"ok", "warn", "missing"})
print(all(c["remedy"] for c in checks if c["status"] == "missing"))
PYTHON
