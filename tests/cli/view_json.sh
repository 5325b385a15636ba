# SPDX-License-Identifier: Apache-2.0
# Lines in the canonical form; a selection selects lines; each stack once.
make_trace whole t.sbt
tsview --json t.sbt > all
head -n 1 all | cut -c1-24
tsview --json --range=3:7 t.sbt | tail -n +2 > part
grep -cxFf all part
tsview --json --stacks t.sbt | grep '"frames"'
tsview --json t.sbt | python3 -c 'import json, sys
for line in list(sys.stdin)[1:]: print(json.loads(line)["seq"], end=" ")'
