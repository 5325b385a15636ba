/* SPDX-License-Identifier: Apache-2.0
 *
 * Forks children in the handler of a timer, that is, in the midst of the calls which the program makes all the
 * time. They are calls without malloc, whose lock fork() takes.
 */
#include "tests/programs/program.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 48 };

static volatile sig_atomic_t fork_count;

static void fork_one(int number)
{
    int saved_errno = errno;
    pid_t child = fork_count < FORKS ? fork() : -1;

    (void)number;
    if (child == 0)
        _exit(0);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    fork_count += child > 0;
    errno = saved_errno;
}

int main(void)
{
    struct sigaction action = {.sa_handler = fork_one, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    int version;

    CU(cuInit(0));
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (fork_count < FORKS)
        CU(cuDriverGetVersion(&version));
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d forked\n", (int)fork_count);
    return 0;
}
