# SPDX-License-Identifier: Apache-2.0
# A launch is shown with the kernel's arguments, by the parameters in its code: typed by PTX, also
# where the code stands before the range. Without the code the argument block stays bytes.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx" TS_CHECKSUM=off # spot checks would shift the numbers of records
arguments() { grep -oE 'cu(Launch|GraphAddKernel)[^ ]* .*' | sed 's/(.*arguments=/ /; s/), .*/)/; s/\])$/]/; s/))$/)/'; }
for program in saxpy graphs; do
    tsrecord -q --emu -o $program.sbt "$BUILD/tests/programs/$program" >/dev/null
    tsview $program.sbt | arguments | sort -u
done
record_of() { tsview --json --arguments "$@" | python3 -c 'import json, sys
for record in map(json.loads, sys.stdin):
    if "arguments" in record:
        print(record["seq"], *(" ".join(f"{k}={v}" for k, v in argument.items()) for argument in record["arguments"]), sep="\n  ")'; }
echo "json:"
record_of saxpy.sbt
tsrecord -q --emu -o pointers.sbt "$BUILD/tests/programs/pointers" >/dev/null
record_of pointers.sbt | sed 's/value=0x[0-9a-f]*/value=0x?/; s/value=[0-9a-f]\{40,\}/value=?/' | sort | uniq -c | sed 's/^ *//'
echo "part:"
launch=$(tsview --calls 'cuLaunch*' saxpy.sbt | awk '{ print $1; exit }')
tsview --range "$launch:$((launch + 1))" saxpy.sbt | arguments
tsview --streams 0 saxpy.sbt | arguments
echo "redacted:"
tracesmith redact -o plain.sbt saxpy.sbt 2>/dev/null
tsview plain.sbt | arguments
rm ./*.sbt
