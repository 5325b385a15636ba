/* SPDX-License-Identifier: Apache-2.0
 *
 * measure_math FILE.ptx: how far the functions of tests/real/math_list.h, as compiled for the GPU,
 * are from the exact result, which is computed with 64 bits of mantissa. Arguments are uniform,
 * spread over the binades, and special.
 */
#include "tests/programs/program.h"

#include <math.h>
#include <stdbool.h>

#define COUNT           4096
#define MANTISSA_FLOAT  23
#define MANTISSA_DOUBLE 52

struct function {
    const char *name;
    long double (*one)(long double x);
    long double (*two)(long double x, long double y);
    double ulp_float, ulp_double;
    double low, high, low_second, high_second;
};

/* ---- what libm lacks ---- */

static long double rsqrtl(long double x)
{
    return 1 / sqrtl(x);
}

static long double rcbrtl(long double x)
{
    return 1 / cbrtl(x);
}

static long double rhypotl(long double x, long double y)
{
    return 1 / hypotl(x, y);
}

static long double dividel(long double x, long double y)
{
    return x / y;
}

/* The nearest integer is taken off first, so that what is left loses nothing. */
static long double sinpil(long double x)
{
    long double whole = rintl(x), y = sinl(M_PIl * (x - whole));

    if (x == whole)
        return isinf(x) ? NAN : copysignl(0, x);
    return fmodl(whole, 2) != 0 ? -y : y;
}

static long double cospil(long double x)
{
    long double whole = rintl(x), y = cosl(M_PIl * (x - whole));

    if (fabsl(x - whole) == 0.5L)
        return 0;
    return fmodl(whole, 2) != 0 ? -y : y;
}

static long double erfcxl(long double x)
{
    long double rest, square = x * x;

    if (isinf(square))
        return x < 0 ? INFINITY : 0;
    rest = fmal(x, x, -square);
    return expl(square) * erfcl(x) * (1 + rest);
}

static long double normcdfl(long double x)
{
    return erfcl(-x * M_SQRT1_2l) / 2;
}

/* By Newton's method from where doubling the interval has found it. */
static long double erfinvl(long double x)
{
    long double y = 0, step = 4;

    if (!(fabsl(x) < 1) || x == 0)
        return x == 1 ? INFINITY : x == -1 ? -INFINITY : x == 0 ? x : NAN;
    for (int i = 0; i < 30; i++, step /= 2)
        y += erfl(y) < x ? step : -step;
    for (int i = 0; i < 4; i++) {
        long double far = x > 0.5L    ? (1 - x) - erfcl(y)
                          : x < -0.5L ? erfcl(-y) - (1 + x)
                                      : erfl(y) - x;
        y -= (x > 0.5L ? far : far) * expl(y * y) / M_2_SQRTPIl;
    }
    return y;
}

#define ONE(name, ...) {#name, name##l, NULL, __VA_ARGS__, 0, 0},
#define TWO(name, ...) {#name, NULL, name##l, __VA_ARGS__},
static const struct function functions[] = {
#include "tests/real/math_list.h"
};

/* ---- arguments ---- */

static uint64_t random_state = 1;

static double random_unit(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* In [low, high]: one of two uniform, the others of any size from 2^-40 on. */
static double sample(int i, double low, double high)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY, NAN, 0x1p-149};
    double most = fmax(fabs(low), fabs(high)), x;

    if (i < 9)
        return special[i];
    do {
        x = i % 2 ? low + random_unit() * (high - low)
                  : exp2(-40 + random_unit() * (40 + log2(most)));
        if (i % 4 == 0 && low < 0)
            x = -x;
    } while (x < low || x > high);
    return x;
}

static void sample_all(const struct function *f, bool wide, void *first, void *second)
{
    for (int i = 0; i < COUNT; i++) {
        double x = sample(i, f->low, f->high);
        double y = f->two ? sample(i < 9 ? (i * 5 + 3) % 9 : i, f->low_second, f->high_second) : 0;
        if (wide) {
            ((double *)first)[i] = x;
            ((double *)second)[i] = y;
        } else {
            ((float *)first)[i] = (float)x;
            ((float *)second)[i] = (float)y;
        }
    }
}

/* ---- comparison ---- */

/* How far `got` is from `exact`, in units of what follows the last place of a result of that size.
 */
static double error_of(double got, long double exact, int mantissa)
{
    long double rounded = mantissa == MANTISSA_FLOAT ? (float)exact : (double)exact;
    int least = mantissa == MANTISSA_FLOAT ? -126 : -1022, exponent;

    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got))
        return rounded == got ? 0 : INFINITY;
    if (rounded == 0 && got == 0)
        return !signbit(rounded) == !signbit(got) || exact != 0 ? 0 : INFINITY;
    exponent = exact == 0 ? least : ilogbl(exact);
    exponent = exponent < least ? least : exponent;
    return (double)ldexpl(fabsl(got - exact), mantissa - exponent);
}

/* Prints the largest error; true when it is allowed. */
static bool compare(const struct function *f, bool wide, const void *first, const void *second,
                    const void *out)
{
    double worst = 0, limit = wide ? f->ulp_double : f->ulp_float, at = 0, at_second = 0,
           got_there = 0;

    for (int i = 0; i < COUNT; i++) {
        double x = wide ? ((const double *)first)[i] : ((const float *)first)[i];
        double y = wide ? ((const double *)second)[i] : ((const float *)second)[i];
        double got = wide ? ((const double *)out)[i] : ((const float *)out)[i];
        long double exact = f->one ? f->one(x) : f->two(x, y);
        double error = error_of(got, exact, wide ? MANTISSA_DOUBLE : MANTISSA_FLOAT);
        if (error > worst) {
            worst = error;
            at = x;
            at_second = y;
            got_there = got;
        }
    }
    /* The documentation counts from the exact result rounded. */
    printf("%s %s: %.2f of %.1f\n", wide ? "double" : "float", f->name, worst, limit + 0.5);
    if (worst > limit + 0.5001)
        printf("    wrong: %a, %a gives %a\n", at, at_second, got_there);
    return worst <= limit + 0.5001;
}

static bool measure(CUmodule module, const struct function *f, bool wide, const CUdeviceptr *memory)
{
    static double first[COUNT], second[COUNT], out[COUNT];
    size_t size = COUNT * (wide ? sizeof(double) : sizeof(float));
    void *params[] = {(void *)&memory[0], (void *)&memory[1], (void *)&memory[2]};
    char name[64];

    snprintf(name, sizeof(name), "%s_%s", wide ? "double" : "float", f->name);
    sample_all(f, wide, first, second);
    CU(cuMemcpyHtoD_v2(memory[0], first, size));
    CU(cuMemcpyHtoD_v2(memory[1], second, size));
    program_launch(program_function(module, name), COUNT, NULL, params);
    CU(cuMemcpyDtoH_v2(out, memory[2], size));
    return compare(f, wide, first, second, out);
}

int main(int argc, char **argv)
{
    CUdeviceptr memory[3];
    CUcontext context;
    CUmodule module;
    int wrong = 0;

    if (argc < 2)
        return 2;
    setenv("TS_TEST_PTX", argv[1], 1);
    module = program_begin(&context);
    for (int i = 0; i < 3; i++)
        CU(cuMemAlloc_v2(&memory[i], COUNT * sizeof(double)));
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        wrong += !measure(module, &functions[i], false, memory);
        wrong += !measure(module, &functions[i], true, memory);
    }
    program_end(module, context);
    printf("%d of %zu functions are too far off\n", wrong,
           2 * sizeof(functions) / sizeof(*functions));
    return wrong != 0;
}
