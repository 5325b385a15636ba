/* SPDX-License-Identifier: Apache-2.0 */
#include "base/own_stack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define GUARD_SIZE 4096u
#define POOL_COUNT 64u

/* Sanitizers know the stack of each thread, and think of another one as an overflow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define KEEP_STACK
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define KEEP_STACK
#endif
#endif

#ifndef KEEP_STACK
/* Stacks that no thread uses. Each is taken and given back by one exchange. */
static char *pool[POOL_COUNT];

/* The one that this thread was last on. */
static __thread char *current __attribute__((tls_model("initial-exec")));

/* Tells Valgrind, if the process runs in it, where a stack begins or began: else it takes a change
 * to it for a large frame of the stack before, and what lies there for no memory. A processor does
 * nothing here: the rotations come to 128 bits (Valgrind's manual, "The Client Request mechanism").
 */
#define STACK_REGISTER   0x1501u
#define STACK_DEREGISTER 0x1502u

static uint64_t ask_valgrind(uint64_t request, uint64_t first, uint64_t second)
{
    const volatile uint64_t words[6] = {request, first, second};
    uint64_t result = 0;

    __asm__ volatile("rolq $3, %%rdi\n\t"
                     "rolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\t"
                     "rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(words)
                     : "cc", "memory");
    return result;
}

/* Valgrind's number of a stack lies at its lowest end, where nobody else comes. */
static uint64_t *number_of(char *stack)
{
    return (uint64_t *)(void *)(stack + GUARD_SIZE);
}

static char *create(void)
{
    int saved_errno = errno;
    char *stack = mmap(NULL, GUARD_SIZE + TSM_OWN_STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        stack = NULL;
    else
        mprotect(stack, GUARD_SIZE, PROT_NONE);
    if (stack) {
        const uintptr_t start = (uintptr_t)stack + GUARD_SIZE;
        const uint64_t number = ask_valgrind(STACK_REGISTER, start, start + TSM_OWN_STACK_SIZE - 1);

        if (number)
            *number_of(stack) = number;
    }
    errno = saved_errno;
    return stack;
}

static char *take(void)
{
    for (unsigned i = 0; i < POOL_COUNT; i++) {
        char *stack = __atomic_load_n(&pool[i], __ATOMIC_RELAXED);
        if (stack && __atomic_compare_exchange_n(&pool[i], &stack, NULL, 0, __ATOMIC_ACQUIRE,
                                                 __ATOMIC_RELAXED))
            return stack;
    }
    return create();
}

static void give(char *stack)
{
    int saved_errno = errno;

    for (unsigned i = 0; i < POOL_COUNT; i++) {
        char *none = NULL;
        if (!__atomic_load_n(&pool[i], __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(&pool[i], &none, stack, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    ask_valgrind(STACK_DEREGISTER, *number_of(stack), 0);
    munmap(stack, GUARD_SIZE + TSM_OWN_STACK_SIZE);
    errno = saved_errno;
}

/* call_on(top, function, argument). Unwinders and debuggers find their way through it; calls and
 * returns nest, as a shadow stack demands. */
void call_on(char *top, void (*function)(void *argument), void *argument)
    __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".type call_on, @function\n"
        "call_on:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "mov %rdi, %rsp\n"
        "mov %rdx, %rdi\n"
        "call *%rsi\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size call_on, . - call_on\n");

void tsm_own_stack_run(void (*function)(void *argument), void *argument)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    char *before = current, *stack = NULL;

    /* A signal handler may have come between, on a stack of its own. */
    if (!before || here - (uintptr_t)before >= GUARD_SIZE + TSM_OWN_STACK_SIZE)
        stack = take();
    if (!stack) {
        function(argument);
        return;
    }
    current = stack;
    call_on(stack + GUARD_SIZE + TSM_OWN_STACK_SIZE, function, argument);
    current = before;
    give(stack);
}
#else
void tsm_own_stack_run(void (*function)(void *argument), void *argument)
{
    function(argument);
}
#endif
