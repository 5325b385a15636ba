#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace with a word in each place that a recording can fill: what --remove names is in no chunk of the
# copy, what it does not name is there, and two copies of traces that differ are not "same".
. "$(dirname "$0")/util.sh"

# planted TRACE: the names of --remove of which it has words, unpacked
planted() {
    python3 - "$TEST_SOURCE/tests/decoder" "$1" <<'PYTHON'
import re
import sys
sys.path.insert(0, sys.argv[1])
import sbt
found = set()
with open(sys.argv[2], "rb") as file:
    file.seek(64)
    while chunk := sbt.read_chunk(file, True):
        found |= set(re.findall(rb"plant_([a-z]+)[_0-9]*", chunk[1]))
print(*sorted(word.decode() for word in found))
PYTHON
}

"$TEST_PROGRAMS/plants" t.sbt
"$TEST_PROGRAMS/plants" other.sbt other
[ "$(planted t.sbt)" = "command contents host names paths user values" ] || fail "planted: $(planted t.sbt)"
for what in contents command host user paths names values hashes contents,command,host,user,paths all; do
    rm -f r.sbt o.sbt
    status 0 tracesmith redact --remove=$what -o r.sbt t.sbt
    status 0 tracesmith check r.sbt
    status 0 tsview --json --stacks r.sbt
    [ $what != all ] || what=command,contents,host,names,paths,user,values
    for word in $(planted r.sbt); do
        case ,$what, in *,$word,*) fail "--remove=$what: of $word is there: $(strings -n 6 out | grep "plant_$word")" ;; esac
    done
    for word in command host values; do # of the others one can go with another one
        case ,$what, in *,$word,* | *,hashes,*) continue ;; esac
        planted r.sbt | grep -q $word || fail "--remove=$what: $word went, too"
    done
    rm -f o.sbt
    status 0 tracesmith redact --remove=$what -o o.sbt other.sbt
    got=0
    tsdiff r.sbt o.sbt >out 2>err || got=$?
    [ $got != 0 ] || fail "--remove=$what: traces that differ are the same"
done
rm -f r.sbt o.sbt
status 0 tracesmith redact --remove=contents -o r.sbt t.sbt
status 0 tracesmith redact --remove=contents -o o.sbt other.sbt
status 1 tsdiff r.sbt o.sbt

"$TEST_PROGRAMS/plants" without.sbt without
status 0 tracesmith check without.sbt
[ "$(planted without.sbt)" = "command host names paths user values" ] || fail "without: $(planted without.sbt)"
# It holds small contents only, in its records, and does not say that they were taken out.
tracesmith info without.sbt | grep -q 'reveals *contents,command,host,user,paths,names,values' ||
    fail "$(tracesmith info without.sbt | grep reveals)"

# Values of all forms stay well formed.
for sample in values structs compact checkpoint; do
    for what in contents names all; do
        rm -f r.sbt
        status 0 tracesmith redact --lossy --remove=$what -o r.sbt "$TEST_SOURCE/tests/golden/$sample.sbt"
        status 0 tracesmith check r.sbt
    done
done
