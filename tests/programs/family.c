/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes and threads crossed: children that use the GPU, that become another program, that fail
 * to, forked before the GPU is used and while threads use it; and a process that fails to become
 * another one in every way. Each process prints its own line. Argument "leaf": only the work of one
 * process.
 */
#include "tests/programs/program.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { COUNT = 2048, SIZE = COUNT * 4, THREADS = 2, ROUNDS = 30 };

static char own_path[4096];

static struct {
    CUcontext context;
    CUfunction mix;
    int stop;
} shared;

struct worker {
    pthread_t thread;
    unsigned number;
    uint32_t digest;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    unsigned count = COUNT;
    uint32_t words[COUNT];
    CUdeviceptr memory;
    CUstream stream;

    CU(cuCtxSetCurrent(shared.context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemsetD32Async(memory, worker->number, COUNT, stream));
    for (unsigned i = 0; i < ROUNDS; i++) {
        program_launch(shared.mix, COUNT, stream, (void *[]){&count, &i, &memory});
        CU(cuMemcpyDtoHAsync_v2(words, memory, SIZE, stream));
        CU(cuStreamSynchronize(stream));
        worker->digest = worker->digest * 31 + program_digest(words, SIZE);
        usleep(300);
    }
    CU(cuMemFree_v2(memory));
    CU(cuStreamDestroy_v2(stream));
    return NULL;
}

static pid_t started(pid_t child)
{
    if (child < 0)
        exit(3);
    return child;
}

static void wait_for(pid_t child, int expected)
{
    int status;

    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != expected) {
        fprintf(stderr, "a child ended with status %x, not %d\n", status, expected);
        exit(4);
    }
}

/* Every way in which it can fail; it must not succeed. */
static void fail_to_exec(void)
{
    char *words[] = {own_path, (char *)"leaf", NULL}, *none[] = {NULL};
    static char large[200000];
    char *too_large[] = {own_path, large, NULL};
    char script[64], text[64];
    int fd;

    memset(large, 'x', sizeof(large) - 1);
    snprintf(script, sizeof(script), "script-%d", (int)getpid());
    snprintf(text, sizeof(text), "text-%d", (int)getpid());
    fd = open(script, O_CREAT | O_WRONLY | O_TRUNC, 0755);
    if (fd < 0 || write(fd, "#!/nonexistent/shell\n", 21) != 21 || close(fd))
        exit(5);
    fd = open(text, O_CREAT | O_WRONLY | O_TRUNC, 0755);
    if (fd < 0 || write(fd, "no program\n", 11) != 11 || close(fd))
        exit(5);
    execv("/nonexistent/program", words);
    execv("/", words);
    execv("/etc/passwd", words);
    execv("/etc/passwd/program", words);
    execv(script, words);
    execv(text, words);
    execv(own_path, too_large);
    execvp("a-program-of-no-folder", words);
    execlp("another-one", "another-one", (char *)NULL);
    fexecve(-1, words, none);
    unlink(script);
    unlink(text);
}

/* One process's work: two threads, and what else there is meanwhile. */
static uint32_t use_gpu(void (*meanwhile)(void))
{
    struct worker workers[THREADS] = {0};
    CUmodule module = program_begin(&shared.context);
    uint32_t digest = 0;

    shared.mix = program_function(module, "mix");
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i + 1;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    if (meanwhile)
        meanwhile();
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        digest = digest * 31 + workers[i].digest;
    }
    program_end(module, shared.context);
    return digest;
}

static void leaf(const char *who, void (*meanwhile)(void))
{
    printf("%s: %08x\n", who, use_gpu(meanwhile));
    fflush(stdout);
}

/* While the threads of this process use the GPU. */
static void start_others(void)
{
    char *words[] = {own_path, (char *)"leaf", NULL};
    pid_t child;

    for (unsigned i = 0; i < 3; i++) {
        child = started(fork());
        if (child == 0) {
            raise(SIGUSR2); /* TS_START_SIGNAL: whoever listens, here is nothing to start */
            if (i == 0)
                _exit(7);
            fail_to_exec();
            if (i == 1)
                _exit(8);
            execv(own_path, words);
            _exit(9);
        }
        wait_for(child, i == 2 ? 0 : 7 + (int)i);
    }
    child = started(vfork());
    if (child == 0) {
        execv("/nonexistent/program", words);
        execv(own_path, words);
        _exit(9);
    }
    wait_for(child, 0);
}

int main(int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
    struct sigaction action = {.sa_handler = SIG_IGN};
    struct sigaction before;
    pid_t child;

    if (length < 0)
        return 2;
    if (argc > 1 && strcmp(argv[1], "leaf") == 0) {
        leaf("leaf", NULL);
        return 0;
    }
    if (!getenv("TS_START_SIGNAL"))
        sigaction(SIGUSR2, &action, &before);
    child = started(fork());
    if (child == 0) {
        leaf("child", fail_to_exec);
        _exit(6);
    }
    wait_for(child, 6);
    leaf("parent", start_others);
    leaf("again", fail_to_exec);
    return 0;
}
