/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of the CUDA runtime that checks itself: what C++ programs use of it, by the toolkit's own
 * headers. With PARTS, a device function and a variable come from runtime_part.cu (-rdc=true).
 */
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

static int checks, failures;

static void check(bool ok, const char *what, int line)
{
    checks++;
    if (!ok) {
        failures++;
        printf("line %d: %s\n", line, what);
    }
}

#define CHECK(condition) check(condition, #condition, __LINE__)
#define OK(call)         check((call) == cudaSuccess, #call, __LINE__)

constexpr int count = 1000;

/* Copies of a vector on the device and back. */
template <typename T> struct Vector {
    T *data = nullptr;
    explicit Vector(const std::vector<T> &from)
    {
        OK(cudaMalloc(&data, from.size() * sizeof(T)));
        OK(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Vector() { OK(cudaFree(data)); }
    std::vector<T> read(size_t size) const
    {
        std::vector<T> to(size);
        OK(cudaMemcpy(to.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
};

template <typename T> __global__ void scale(T *x, T factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= factor;
}

template <typename T> static void scaled(T factor)
{
    std::vector<T> values(count);
    for (int i = 0; i < count; i++)
        values[i] = T(i % 50);
    Vector<T> x(values);
    scale<<<(count + 127) / 128, 128>>>(x.data, factor, count);
    OK(cudaGetLastError());
    std::vector<T> got = x.read(count);
    int right = 0;
    for (int i = 0; i < count; i++)
        right += got[i] == T(values[i] * factor);
    CHECK(right == count);
}

/* ---- variables ---- */

__constant__ int table[8];
__device__ int sums[4];
__device__ unsigned counter;

__global__ void use_variables()
{
    atomicAdd(&counter, 1u);
    sums[threadIdx.x] += table[threadIdx.x] + table[threadIdx.x + 4];
}

static void variables()
{
    const int values[8] = {1, 2, 3, 4, 10, 20, 30, 40};
    int got[4];
    unsigned launches = 5, zero = 0;
    void *address;
    size_t size;
    OK(cudaMemcpyToSymbol(table, values, sizeof(values)));
    OK(cudaMemcpyToSymbol(counter, &zero, sizeof(zero)));
    OK(cudaGetSymbolAddress(&address, sums));
    OK(cudaGetSymbolSize(&size, sums));
    CHECK(size == sizeof(got));
    OK(cudaMemset(address, 0, size));
    for (unsigned i = 0; i < launches; i++)
        use_variables<<<1, 4>>>();
    OK(cudaMemcpyFromSymbol(got, sums, sizeof(got)));
    for (int i = 0; i < 4; i++)
        CHECK(got[i] == 5 * (values[i] + values[i + 4]));
    OK(cudaMemcpyFromSymbol(&launches, counter, sizeof(launches)));
    CHECK(launches == 20);
}

/* ---- streams, events, functions ---- */

static void CUDART_CB add_one(void *number)
{
    ++*static_cast<int *>(number);
}

static void CUDART_CB told(cudaStream_t, cudaError_t error, void *number)
{
    *static_cast<int *>(number) += error == cudaSuccess ? 10 : 100;
}

static void streams()
{
    cudaStream_t a, b;
    cudaEvent_t middle, begin, end;
    int *pinned, called = 0;
    float ms = -1;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMallocHost(&pinned, count * sizeof(int)));
    Vector<int> x(std::vector<int>(count, 3));
    OK(cudaEventRecord(begin, a));
    scale<<<8, 128, 0, a>>>(x.data, 7, count);
    OK(cudaEventRecord(middle, a));
    OK(cudaStreamWaitEvent(b, middle));
    scale<<<8, 128, 0, b>>>(x.data, 2, count);
    OK(cudaMemcpyAsync(pinned, x.data, count * sizeof(int), cudaMemcpyDeviceToHost, b));
    OK(cudaLaunchHostFunc(b, add_one, &called));
    OK(cudaStreamAddCallback(b, told, &called, 0));
    OK(cudaEventRecord(end, b));
    OK(cudaEventSynchronize(end));
    OK(cudaStreamSynchronize(b));
    CHECK(called == 11);
    CHECK(pinned[0] == 42 && pinned[count - 1] == 42);
    OK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(ms >= 0);
    OK(cudaStreamQuery(a));
    OK(cudaFreeHost(pinned));
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(middle));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

/* ---- shared memory, cooperation, attributes ---- */

__global__ void reverse(int *x, int n)
{
    extern __shared__ int dynamic[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        dynamic[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = dynamic[n - 1 - i];
}

__global__ void rounds(int *x)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int i = 0; i < 3; i++) {
        if (grid.thread_rank() == 0)
            x[i + 1] = x[i] * 2;
        grid.sync();
        if (grid.thread_rank() == grid.size() - 1)
            x[i + 1] += 1;
        grid.sync();
    }
}

static void launches()
{
    const int n = 14000; /* more than 48 KiB */
    std::vector<int> values(n);
    for (int i = 0; i < n; i++)
        values[i] = i;
    Vector<int> x(values);
    int blocks = 0, size = 0;
    reverse<<<1, 256, n * sizeof(int)>>>(x.data, n);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    reverse<<<1, 256, n * sizeof(int)>>>(x.data, n);
    OK(cudaGetLastError());
    std::vector<int> got = x.read(n);
    CHECK(got[0] == n - 1 && got[n - 1] == 0 && got[5000] == n - 5001);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 1024));
    CHECK(blocks > 0);
    OK(cudaOccupancyMaxPotentialBlockSize(&blocks, &size, scale<float>));
    CHECK(blocks > 0 && size % 32 == 0);
    reverse<<<1, 2000>>>(x.data, n);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);

    Vector<int> y(std::vector<int>(8, 1));
    void *arguments[] = {&y.data};
    OK(cudaLaunchCooperativeKernel(rounds, dim3(4), dim3(64), arguments));
    CHECK(y.read(4)[3] == 15);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, rounds, y.data));
    CHECK(y.read(4)[3] == 15);
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, reverse));
    CHECK(attributes.maxDynamicSharedSizeBytes == 64 << 10 && attributes.numRegs > 0);
}

/* ---- memory of other kinds ---- */

__global__ void count_up(int *x, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] += i;
}

static void memory()
{
    int *managed, *mapped, *on_device, *pooled;
    cudaPointerAttributes attributes;
    OK(cudaMallocManaged(&managed, 100 * sizeof(int)));
    for (int i = 0; i < 100; i++)
        managed[i] = 1000;
    count_up<<<1, 32>>>(managed, 100);
    OK(cudaDeviceSynchronize());
    CHECK(managed[0] == 1000 && managed[99] == 1099);
    OK(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    OK(cudaHostAlloc(&mapped, 100 * sizeof(int), cudaHostAllocMapped));
    memset(mapped, 0, 100 * sizeof(int));
    OK(cudaHostGetDevicePointer(&on_device, mapped, 0));
    count_up<<<1, 32>>>(on_device, 100);
    OK(cudaDeviceSynchronize());
    CHECK(mapped[99] == 99);
    OK(cudaMallocAsync(&pooled, 100 * sizeof(int), nullptr));
    OK(cudaMemsetAsync(pooled, 0, 100 * sizeof(int), nullptr));
    count_up<<<1, 32>>>(pooled, 100);
    OK(cudaMemcpy(mapped, pooled, 100 * sizeof(int), cudaMemcpyDefault));
    CHECK(mapped[1] == 1 && mapped[98] == 98);
    OK(cudaFreeAsync(pooled, nullptr));
    OK(cudaFreeHost(mapped));
    OK(cudaFree(managed));
}

/* ---- textures and surfaces ---- */

__global__ void sample(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 1.5f) + tex2D<float>(texture, 1.0f, 1.0f);
}

__global__ void mark(cudaSurfaceObject_t surface)
{
    surf2Dwrite(100.0f + threadIdx.x, surface, int(threadIdx.x * sizeof(float)), 1);
}

static void textures()
{
    float texels[4][8];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    for (int i = 0; i < 32; i++)
        texels[i / 8][i % 8] = float(i);
    resource.resType = cudaResourceTypeArray;
    OK(cudaMallocArray(&resource.res.array.array, &format, 8, 4, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(resource.res.array.array, 0, 0, texels, 32, 32, 4,
                           cudaMemcpyHostToDevice));
    how.filterMode = cudaFilterModeLinear;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    OK(cudaCreateSurfaceObject(&surface, &resource));
    Vector<float> out(std::vector<float>(8, 0.0f));
    sample<<<1, 8>>>(texture, out.data);
    std::vector<float> got = out.read(8);
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == texels[1][i] + (texels[0][0] + texels[0][1] + texels[1][0] + texels[1][1]) / 4);
    mark<<<1, 8>>>(surface);
    OK(cudaMemcpy2DFromArray(texels, 32, resource.res.array.array, 0, 0, 32, 4,
                             cudaMemcpyDeviceToHost));
    CHECK(texels[1][0] == 100 && texels[1][7] == 107 && texels[2][0] == 16);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(resource.res.array.array));
}

/* ---- graphs ---- */

static void graphs()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    Vector<int> x(std::vector<int>(count, 1));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    scale<<<8, 128, 0, stream>>>(x.data, 3, count);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph));
    for (int i = 0; i < 4; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(x.read(1)[0] == 81);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

/* ---- threads ---- */

static void threads()
{
    std::vector<std::thread> all;
    int right[4] = {};
    for (int t = 0; t < 4; t++)
        all.emplace_back([t, &right] {
            int *x, got[64] = {};
            cudaStream_t stream;
            bool ok = !cudaStreamCreate(&stream) && !cudaMalloc(&x, sizeof(got));
            ok = ok && !cudaMemsetAsync(x, 0, sizeof(got), stream);
            count_up<<<1, 32, 0, stream>>>(x, 64);
            ok = ok && !cudaMemcpyAsync(got, x, sizeof(got), cudaMemcpyDeviceToHost, stream);
            ok = ok && !cudaStreamSynchronize(stream) && !cudaFree(x) && !cudaStreamDestroy(stream);
            right[t] = ok && got[63] == 63 && cudaGetLastError() == cudaSuccess;
        });
    for (std::thread &thread : all)
        thread.join();
    CHECK(right[0] && right[1] && right[2] && right[3]);
}

#ifdef PARTS
extern __device__ int part_factor;
__device__ int part_multiply(int x);

__global__ void use_part(int *x)
{
    x[threadIdx.x] = part_multiply(x[threadIdx.x]);
}

static void parts()
{
    int factor = 6;
    Vector<int> x({1, 2, 3, 4});
    use_part<<<1, 4>>>(x.data);
    CHECK(x.read(4)[3] == 20);
    OK(cudaMemcpyToSymbol(part_factor, &factor, sizeof(factor)));
    use_part<<<1, 4>>>(x.data);
    CHECK(x.read(4)[3] == 120);
}
#else
static void parts() {}
#endif

int main()
{
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.warpSize == 32);
    scaled<int>(3);
    scaled<float>(0.5f);
    scaled<double>(1.25);
    variables();
    streams();
    launches();
    memory();
    textures();
    graphs();
    threads();
    parts();
    OK(cudaDeviceSynchronize());
    OK(cudaGetLastError());
    printf("%d of %d checks failed\n", failures, checks);
    return failures != 0;
}
