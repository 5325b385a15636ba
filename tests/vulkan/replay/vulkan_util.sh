# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of Vulkan replay, after the rules of tests/e2e/util.sh: they run on Debian's
# software driver, and are skipped where it is not.
. "$TEST_SOURCE/tests/e2e/util.sh"

driver=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
[ -f "$driver" ] || exit 77
export VK_ICD_FILENAMES=$driver

# record_vulkan TRACE COMMAND...
record_vulkan() {
    trace=$1
    shift
    LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=$trace "$@"
}

# record_mode MODE: leaves MODE.sbt
record_mode() {
    record_vulkan "$1.sbt" "$TEST_VULKAN/vk_modes" "$1" >"$1.out"
}

# all_equal COUNT TRACE [OPTION...]: at least so many comparisons, none differs
all_equal() {
    wanted=$1
    shift
    status 0 tsreplay --json "$@"
    [ "$(field out checksum_count)" -ge "$wanted" ] || fail "too few comparisons: $*"
    [ "$(field out difference_count)" = 0 ] || fail "differences: $*"
}
