# SPDX-License-Identifier: Apache-2.0
# One object with everything that the text has.
make_trace lossy t.sbt
tracesmith info --json --calls t.sbt > t.json
python3 - <<'PYTHON'
import json
info = json.load(open("t.json"))
print(info["schema"], info["records"], info["lost"], info["complete"], info["metadata"])
print(sum(c["count"] for c in info["calls"]), sorted(info["calls"][0]))
PYTHON
