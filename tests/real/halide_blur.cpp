// SPDX-License-Identifier: Apache-2.0
//
// A program of Debian's Halide: a blur, a reduction and an atomic histogram, compiled at run time for
// CUDA and for the CPU, and compared. Halide opens libcuda by itself.
#include <Halide.h>

#include <cstdio>

using namespace Halide;

static const int width = 96, height = 64;

static Func blur(const Buffer<int32_t> &in, bool gpu)
{
    Var x("x"), y("y"), xo("xo"), yo("yo"), xi("xi"), yi("yi");
    Func source("source"), rows("rows"), out("out");

    source(x, y) = BoundaryConditions::repeat_edge(in)(x, y);
    rows(x, y) = source(x - 1, y) + 2 * source(x, y) + source(x + 1, y);
    out(x, y) = (rows(x, y - 1) + 2 * rows(x, y) + rows(x, y + 1)) / 16;
    if (gpu)
        out.gpu_tile(x, y, xo, yo, xi, yi, 16, 8);
    return out;
}

static Func histogram(const Buffer<int32_t> &in, bool gpu)
{
    Var i("i"), bo("bo"), bi("bi");
    RDom r(0, width, 0, height);
    Func out("histogram");

    out(i) = 0;
    out(clamp(in(r.x, r.y), 0, 63)) += 1;
    if (gpu) {
        RVar ro("ro"), ri("ri");
        out.gpu_tile(i, bo, bi, 32);
        out.update().atomic().split(r.x, ro, ri, 32).gpu_blocks(ro).gpu_threads(ri);
    }
    return out;
}

static int compare(const char *name, const Buffer<int32_t> &cpu, const Buffer<int32_t> &gpu)
{
    long different = 0;

    cpu.for_each_element([&](const int *at) { different += cpu(at) != gpu(at); });
    std::printf("%s: %ld differ\n", name, different);
    return different != 0;
}

int main()
{
    Target cpu("host"), cuda("host-cuda-cuda_capability_70");
    Buffer<int32_t> in(width, height);
    int bad = 0;

    in.for_each_element([&](int x, int y) { in(x, y) = (x * 7 + y * 13 + (x * y) % 11) % 64; });
    {
        Buffer<int32_t> a = blur(in, false).realize({width, height}, cpu);
        Buffer<int32_t> b = blur(in, true).realize({width, height}, cuda);
        b.copy_to_host();
        bad += compare("blur", a, b);
    }
    {
        Buffer<int32_t> a = histogram(in, false).realize({64}, cpu);
        Buffer<int32_t> b = histogram(in, true).realize({64}, cuda);
        b.copy_to_host();
        bad += compare("histogram", a, b);
    }
    return bad != 0;
}
