# SPDX-License-Identifier: GPL-2.0
# Programs on QEMU's virtio-gpu: Mesa's GL through virgl, and page flips. Recorded, shown, joined with the
# ring's jobs, sent again. Runs in the host's file system; what the host looks at is left in /out.
. "$(dirname "$0")/tap.sh"
cd /tmp
for name in grtrace tsrecord tsview tsreplay; do ln -s /test/tools/tracesmith $name; done
ln -s /test/tools/tracesmith tracesmith
PATH=$PATH:/tmp
export HOME=/tmp XDG_RUNTIME_DIR=/tmp MESA_SHADER_CACHE_DISABLE=true TS_APIS=drm TS_DRM=all TS_CHECKSUM=sync
frames=4

# ---- GL: /test/kernel/tests/gl_frames stops where the driver is not virgl
/test/kernel/tests/gl_frames virgl $frames > plain 2> said; ok $? "GL draws through virgl"
[ -s plain ] || sed 's/^/# /' said
tsrecord --kernel -o gl.sbt -- /test/kernel/tests/gl_frames virgl $frames > recorded 2> said; ok $? "tsrecord --kernel"
sed 's/^/# /' said
cmp -s plain recorded; ok $? "the program draws the same"
tracesmith check gl.sbt > /dev/null; ok $? "its trace is sound"
tracesmith ioctls -e '*EXECBUFFER' --commands gl.sbt > submits
[ "$(grep -c '^ *[0-9.]* DRM_IOCTL_VIRTGPU_EXECBUFFER' submits)" = $frames ]; ok $? "a submit for each frame"
[ "$(grep -c 'virgl DRAW_VBO' submits)" = $frames ]; ok $? "a draw in each"
! grep -q 'cut off\|virgl command' submits; ok $? "all commands have names"
tracesmith ioctls -c gl.sbt | grep -q '(unknown)'; [ $? = 1 ]; ok $? "and all ioctls"
tsreplay gl.sbt > replayed 2> said; ok $? "tsreplay: $(cat replayed)"
sed 's/^/# /' said
grep -q "$frames commands, 1 stream, all [1-9][0-9]* checksums equal" replayed; ok $? "every frame's memory is the same"

# ---- the ring's jobs
tsview --kernel gl.sbt > view 2> said
grep -q "^tsview: $frames of $frames submits have a job" said; ok $? "each submit is joined: $(head -1 said)"
grep -A1 'DRM_IOCTL_VIRTGPU_EXECBUFFER' view | grep '^k job control ctx ' > jobs
[ "$(wc -l < jobs)" = $frames ]; ok $? "and shown under it"
sed 's/^/# /' jobs | head -2
in_order() { # JOBS: call, submit, end, complete
    awk '{ for (i = 1; i < NF; i++) if ($i ~ /^(submit|end|complete)$/) t[$i] = $(i + 1) + 0
           if (!(t["submit"] > 0 && t["end"] > t["submit"] && t["complete"] >= t["end"])) exit 1 }' "$1"
}
in_order jobs; ok $? "in order"
tsview --kernel --json gl.sbt 2> /dev/null | grep '"job_of"' > jobs.json
[ "$(grep -c '"start_ns":null,' jobs.json)" = $frames ]; ok $? "JSON; the host does not tell the start"
[ "$(grep -o '"seqno":[0-9]*' jobs.json | sort -u | wc -l)" = $frames ]; ok $? "each is another job"

# Commands without fence, whose context the host does not repeat: records of their answers have it.
contexts() { grtrace report --format=csv "$1" | awk -F, '$5 > 0 && $5 < 1e9 && $6 > 9e18' | wc -l; }
[ "$(contexts gl.sbt)" -gt 0 ]; ok $? "$(contexts gl.sbt) commands without fence have their context"
# The session may end before the last ones are answered.
left_behind() { # TRACE: jobs that did not complete although later ones did
    grtrace report --format=csv "$1" | awk -F, '$11 == "NA" || NR == 1 { next }
        $9 == "unfinished" { open[$11] = 1; next } $11 > last { last = $11 }
        END { for (ns in open) count += ns + 0 < last; print count + 0 }'
}
[ "$(left_behind gl.sbt)" = 0 ]; ok $? "none is left unfinished"

# ---- the same by eBPF
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
tsrecord --kernel --kernel-backend=bpf -o e.sbt -- /test/kernel/tests/gl_frames virgl $frames > recorded 2> said
ok $? "tsrecord --kernel --kernel-backend=bpf"
sed 's/^/# /' said
tracesmith check e.sbt > /dev/null; ok $? "its trace is sound"
tsview --kernel e.sbt 2> said | grep -A1 'DRM_IOCTL_VIRTGPU_EXECBUFFER' | grep '^k job control ctx ' > jobs
grep -q "^tsview: $frames of $frames submits have a job" said && [ "$(wc -l < jobs)" = $frames ]
ok $? "each submit is joined: $(head -1 said)"
in_order jobs; ok $? "in order"
[ "$(contexts e.sbt)" = "$(contexts gl.sbt)" ]; ok $? "as many commands without fence as by the module"
[ "$(left_behind e.sbt)" = 0 ]; ok $? "none is left unfinished"

# ---- the screen
tsrecord --kernel -o flips.sbt -- /test/kernel/tests/page_flips 3 > said 2>&1; ok $? "page flips: $(head -1 said)"
tracesmith ioctls -e '*PAGE_FLIP' flips.sbt > flips
[ "$(wc -l < flips)" = 3 ]; ok $? "are recorded"
tracesmith ioctls -e '*SETCRTC' flips.sbt | grep -q 'set_connectors_ptr=\[[1-9]'; ok $? "with what pointers lead to"
tsreplay flips.sbt > replayed 2> said; ok $? "pictures are made again: $(cat replayed)"
grep -q 'ioctls of its screen left out' said; ok $? "and not shown: $(sed -n 's/.*virtio_gpu, //p' said)"
[ "$(left_behind flips.sbt)" = 0 ]; ok $? "no job is left unfinished"
# ---- what goes past libc
tracesmith ioctls -c --json -o counted.sbt -- /test/kernel/tests/page_flips 1 2> counted > /dev/null
grep -o '"counted":[0-9]*,"recorded":[0-9]*' counted | sed 's/^/# /'
grep -o '"counted":[0-9]*,"recorded":[0-9]*' counted | tr ':,' '  ' | awk '$2 > 5 && $2 == $4 { good = 1 } END { exit !good }'
ok $? "the kernel counts as many ioctls as are recorded"
tracesmith ioctls -c -- /test/kernel/tests/page_flips 1 7 2>&1 > /dev/null | grep '^tracesmith ioctls: 7 of [0-9]* ioctls on DRM files went past libc' > said
ok $? "and tells what is not: $(cat said)"
tsrecord --census --drm=all -o counted.sbt -- /test/kernel/tests/page_flips 1 7 2>&1 > /dev/null | grep '^tsrecord: 7 of [0-9]* ioctls on DRM files went past libc' > said
ok $? "and so does tsrecord: $(cat said)"

# It stops when there is something to read, and looks for plugins, by a process of its own.
export GST_PLUGIN_SYSTEM_PATH=/nowhere
mkfifo quiet
exec 9<> quiet
tsrecord -o cube.sbt -- /test/kmscube -c 3 <&9 > said 2>&1
tail -1 said | sed 's/^/# /'
[ "$(tracesmith ioctls -e '*PAGE_FLIP' cube.sbt | wc -l)" -ge 1 ]; ok $? "kmscube is recorded"
# It reads nothing back, but it waits for page flips: what is mapped then is hashed, if anything is.
tsreplay cube.sbt > replayed 2> said
grep -q '^[1-9].* commands, 1 stream,.* \(nothing to compare\|all [0-9]* checksums equal\)' replayed; ok $? "and replayed: $(cut -c1-60 replayed)"
sed 's/^/# /' said

cp gl.sbt /out/
echo "1..$count"
exit $failed
