/* SPDX-License-Identifier: Apache-2.0
 *
 * An OpenMP target region whose threads keep arrays of their own on their stacks; which thread does
 * which part of the work is chance, and the sum is not.
 */
#include <stdio.h>

#define WORDS 16

#pragma omp declare target
static void __attribute__((noinline)) fill(int *words, int value)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = value + i;
}

static int __attribute__((noinline)) total(const int *words)
{
    int sum = 0;

    for (int i = 0; i < WORDS; i++)
        sum += words[i];
    return sum;
}
#pragma omp end declare target

int main(void)
{
    long sum = 0;

    for (int round = 0; round < 3; round++) {
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)              \
    schedule(dynamic) num_teams(4)
        for (int i = 0; i < 300; i++) {
            int words[WORDS];
            fill(words, i);
            sum += total(words);
        }
    }
    printf("sum %ld\n", sum);
    return 0;
}
