/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that somebody may want to replace, launched in every way there is: step(), which uses a
 * variable of its module, and clean(), which uses nothing but its arguments. Argument: the code, as
 * a file; each way is a word behind it, all of them where there is none.
 */
#include "tests/programs/program.h"

enum { COUNT = 64, ROUNDS = 2 };

static struct {
    const char *path;
    char *bytes;
    CUcontext context;
    CUmodule module;
    CUfunction step, clean;
    CUdeviceptr out;
    CUstream stream;
    unsigned value;
} s;

static void **arguments(void)
{
    static void *list[2];

    s.value += 3;
    list[0] = &s.out;
    list[1] = &s.value;
    return list;
}

static void launch(CUfunction function)
{
    CU(cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, s.stream, arguments(), NULL));
}

static void way_plain(void)
{
    launch(s.step);
    launch(s.clean);
}

static void way_cooperative(void)
{
    CU(cuLaunchCooperativeKernel(s.step, 1, 1, 1, COUNT, 1, 1, 0, s.stream, arguments()));
    CU(cuLaunchCooperativeKernel(s.clean, 1, 1, 1, COUNT, 1, 1, 0, s.stream, arguments()));
}

static void way_configured(void)
{
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = COUNT,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = s.stream};

    CU(cuLaunchKernelEx(&config, s.step, arguments(), NULL));
    CU(cuLaunchKernelEx(&config, s.clean, arguments(), NULL));
}

/* More shared memory than a kernel has without the attribute. */
static void way_attributes(void)
{
    const unsigned size = 64 << 10;
    CUfunction functions[] = {s.step, s.clean};

    for (int i = 0; i < 2; i++) {
        CU(cuFuncSetAttribute(functions[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              (int)size));
        CU(cuLaunchKernel(functions[i], 1, 1, 1, COUNT, 1, 1, size, s.stream, arguments(), NULL));
    }
}

static void way_graph(void)
{
    CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = COUNT,
                                      .blockDimY = 1,
                                      .blockDimZ = 1};
    CUgraphNode first, second;
    CUgraphExec exec;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    params.func = s.step;
    params.kernelParams = arguments();
    CU(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &params));
    params.func = s.clean;
    params.kernelParams = arguments();
    CU(cuGraphAddKernelNode_v2(&second, graph, &first, 1, &params));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, s.stream));
    params.kernelParams = arguments();
    CU(cuGraphExecKernelNodeSetParams_v2(exec, second, &params));
    CU(cuGraphLaunch(exec, s.stream));
    CU(cuStreamSynchronize(s.stream));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

static void way_capture(void)
{
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(s.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    way_plain();
    CU(cuStreamEndCapture(s.stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, s.stream));
    CU(cuStreamSynchronize(s.stream));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

/* By its handle of a library, as a function, and as a function of the library's module. */
static void way_library(void)
{
    const char *const names[] = {"step", "clean"};
    CUlibrary library;
    CUmodule module;

    CU(cuLibraryLoadData(&library, s.bytes, NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetModule(&module, library));
    for (int i = 0; i < 2; i++) {
        CUfunction function;
        CUkernel kernel;

        CU(cuLibraryGetKernel(&kernel, library, names[i]));
        launch((CUfunction)kernel);
        CU(cuKernelGetFunction(&function, kernel));
        launch(function);
        CU(cuModuleGetFunction(&function, module, names[i]));
        launch(function);
    }
    CU(cuStreamSynchronize(s.stream));
    CU(cuLibraryUnload(library));
}

/* A module that comes and goes, whose functions the program asks for again and again. */
static void way_modules(void)
{
    for (int i = 0; i < 2; i++) {
        CUmodule module;

        CU(cuModuleLoadData(&module, s.bytes));
        for (int k = 0; k < 2; k++) {
            launch(program_function(module, "step"));
            launch(program_function(module, "clean"));
        }
        CU(cuStreamSynchronize(s.stream));
        CU(cuModuleUnload(module));
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {{"plain", way_plain},           {"cooperative", way_cooperative},
            {"configured", way_configured}, {"attributes", way_attributes},
            {"graph", way_graph},           {"capture", way_capture},
            {"library", way_library},       {"modules", way_modules}};

static void begin(const char *path)
{
    CUdevice device;
    FILE *file = fopen(path, "rb");
    size_t size;

    s.bytes = calloc(1, 1 << 20);
    size = file && s.bytes ? fread(s.bytes, 1, (1 << 20) - 1, file) : 0;
    if (!size)
        exit(1);
    fclose(file);
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate_v2(&s.context, 0, device));
    CU(cuModuleLoad(&s.module, path));
    s.step = program_function(s.module, "step");
    s.clean = program_function(s.module, "clean");
    CU(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&s.out, COUNT * sizeof(unsigned)));
    CU(cuMemsetD32_v2(s.out, 1, COUNT));
    CU(cuCtxSynchronize());
}

static void show(const char *name)
{
    unsigned out[COUNT], counter;
    CUdeviceptr place;

    CU(cuStreamSynchronize(s.stream));
    CU(cuMemcpyDtoH_v2(out, s.out, sizeof(out)));
    CU(cuModuleGetGlobal_v2(&place, NULL, s.module, "counter"));
    CU(cuMemcpyDtoH_v2(&counter, place, sizeof(counter)));
    printf("%s: %08x, counter %u\n", name, program_digest(out, sizeof(out)), counter);
}

static int is_wanted(char **words, const char *name)
{
    if (!*words)
        return 1;
    for (; *words; words++)
        if (!strcmp(*words, name))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    begin(argv[1]);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
            if (is_wanted(argv + 2, ways[i].name)) {
                ways[i].run();
                show(ways[i].name);
            }
    CU(cuMemFree_v2(s.out));
    CU(cuStreamDestroy_v2(s.stream));
    CU(cuModuleUnload(s.module));
    CU(cuCtxDestroy_v2(s.context));
    free(s.bytes);
    return 0;
}
