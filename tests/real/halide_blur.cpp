// SPDX-License-Identifier: Apache-2.0
//
// A program of Debian's Halide: a blur, an atomic histogram, a reduction with exp and sin, and a
// small neural layer, compiled at run time for CUDA and for the CPU, and compared. Halide opens
// libcuda by itself.
#include <Halide.h>

#include <cmath>
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

/* A sum down each column. */
static Func waves(const Buffer<int32_t> &in, bool gpu)
{
    Var x("x"), xo("xo"), xi("xi");
    RDom r(0, height);
    Func out("waves");

    out(x) = 0.0f;
    out(x) += exp(in(x, r) * -0.05f) * sin(in(x, r) * 0.1f + x);
    if (gpu) {
        out.gpu_tile(x, xo, xi, 32);
        out.update().gpu_tile(x, xo, xi, 32);
    }
    return out;
}

/* Weights times inputs, tiles of both in shared memory, and what is negative cut off. */
static Func layer(const Buffer<int32_t> &in, bool gpu)
{
    Var x("x"), y("y"), xo("xo"), yo("yo"), xi("xi"), yi("yi");
    RDom r(0, height);
    Func weights("weights"), sum("sum"), out("layer");

    weights(x, y) = cast<float>((x * 5 + y * 3) % 17 - 8);
    sum(x, y) += weights(r, y) * in(x, r);
    out(x, y) = max(sum(x, y) + y, 0.0f);
    if (gpu) {
        out.gpu_tile(x, y, xo, yo, xi, yi, 16, 8);
        weights.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 16, 8);
        sum.compute_at(out, xo).gpu_threads(x, y).update().gpu_threads(x, y);
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

/* Each is its own approximation of exp and sin. */
static int compare_near(const char *name, const Buffer<float> &cpu, const Buffer<float> &gpu,
                        double allowed)
{
    double worst = 0, largest = 0;

    cpu.for_each_element([&](const int *at) {
        worst = std::fmax(worst, std::fabs((double)cpu(at) - gpu(at)));
        largest = std::fmax(largest, std::fabs((double)cpu(at)));
    });
    std::printf("%s: %s\n", name, worst <= allowed * largest ? "near" : "far off");
    return largest == 0 || worst > allowed * largest;
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
    {
        Buffer<float> a = waves(in, false).realize({width}, cpu);
        Buffer<float> b = waves(in, true).realize({width}, cuda);
        b.copy_to_host();
        bad += compare_near("waves", a, b, 1e-5);
    }
    {
        Buffer<float> a = layer(in, false).realize({width, 32}, cpu);
        Buffer<float> b = layer(in, true).realize({width, 32}, cuda);
        b.copy_to_host();
        bad += compare_near("layer", a, b, 0);
    }
    return bad != 0;
}
