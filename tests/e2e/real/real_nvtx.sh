#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs compiled with NVIDIA's own NVTX headers, in C and C++: their labels are in the trace. Needs a CUDA toolkit.
. "$(dirname "$0")/../util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
for include in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
    [ ! -e "$include/nvtx3/nvToolsExt.h" ] || break
done
[ -e "$include/nvtx3/nvToolsExt.h" ] || exit 77

cat >labels.c <<'C'
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("own domain");
    nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "registered");
    nvtxEventAttributes_t a = {0};
    nvtxRangeId_t range;
    int tool, deep;

    nvtxDomainNameCategoryA(domain, 3, "third");
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 3;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff123456;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 0.5;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = text;
    range = nvtxDomainRangeStartEx(domain, &a);
    tool = nvtxRangePushA("outer") != NVTX_NO_PUSH_POP_TRACKING;
    deep = nvtxRangePushW(L"w\u00efde");
    nvtxMarkA("point");
    if (tool && (deep != 1 || nvtxRangePop() != 1 || nvtxRangePop() != 0 || nvtxRangePop() >= 0 || !domain || !text || !range))
        return 1;
    nvtxDomainRangeEnd(domain, range);
    nvtxNameOsThreadA(0, "nobody");
    nvtxDomainDestroy(domain);
    puts("done");
    return 0;
}
C
cat >ranges.cpp <<'C'
#include <cstdio>
#include <nvtx3/nvtx3.hpp>

struct library {
    static constexpr char const *name{"C++ library"};
};

static void work()
{
    NVTX3_FUNC_RANGE_IN(library);
    nvtx3::scoped_range_in<library> inner{"scoped", nvtx3::rgb{1, 2, 3}, nvtx3::payload{std::int32_t{-7}}};
    nvtx3::mark_in<library>("from C++");
}

int main()
{
    work();
    work();
    std::puts("done");
}
C
marks() {
    tsview --json --calls=mark "$1" | python3 -c 'import json, sys
for r in map(json.loads, sys.stdin):
    if "call" in r:
        a = r["args"]
        print(a["name"], a["phase"], a["domain"], a["category_name"], a["color"], a["payload_type"], a["payload"])'
}
${CC:-cc} -I"$include" -o labels labels.c -ldl
./labels >plain.out
LD_PRELOAD=$preload TS_OUTPUT=c.sbt ./labels >record.out
cmp plain.out record.out || fail "another output"
marks c.sbt >got
cat >expected <<'M'
registered 1 own domain third 0xff123456 double 0x3fe0000000000000
outer 1 None None 0x0 none 0x0
wïde 1 None None 0x0 none 0x0
point 0 None None 0x0 none 0x0
None 2 None None 0x0 none 0x0
None 2 None None 0x0 none 0x0
None 2 None None 0x0 none 0x0
M
cmp got expected || fail "labels of C: $(cat got)"

command -v "${CXX:-c++}" >/dev/null && [ -e "$include/nvtx3/nvtx3.hpp" ] || exit 0
${CXX:-c++} -std=c++17 -I"$include" -o ranges ranges.cpp -ldl
./ranges >plain.out
LD_PRELOAD=$preload TS_OUTPUT=cpp.sbt ./ranges >record.out
cmp plain.out record.out || fail "another output"
marks cpp.sbt >got
for i in 1 2; do
    cat <<'M'
work 1 C++ library None 0x0 none 0x0
scoped 1 C++ library None 0xff010203 int32 0xfffffff9
from C++ 0 C++ library None 0x0 none 0x0
None 2 None None 0x0 none 0x0
None 2 None None 0x0 none 0x0
M
done >expected
cmp got expected || fail "labels of C++: $(cat got)"
