/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenMP target regions, as GCC compiles them for nvptx: one piece of code with its own runtime
 * library, linked on the device when the program starts.
 */
#include <stdio.h>
#include <stdlib.h>

#define N 600

#pragma omp declare target
static int table[N];

static int __attribute__((noinline)) mix(int a, int b)
{
    return (a * 31 + b) % 10007;
}
#pragma omp end declare target

/* A pair makes GCC move two words at once. */
struct pair {
    int low;
    int high;
};

static long fill(void)
{
    long sum = 0;

#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        table[i] = mix(i, i / 7);
        sum += table[i];
    }
    return sum;
}

static int swap_pairs(struct pair *pairs)
{
    int swapped = 0;

#pragma omp target parallel for map(tofrom : pairs [0:N], swapped) reduction(+ : swapped)
    for (int i = 0; i < N; i++) {
        struct pair p = pairs[i];
        if (p.low > p.high) {
            pairs[i] = (struct pair){p.high, p.low};
            swapped++;
        }
    }
    return swapped;
}

/* Teams, threads of a team, a critical region and an atomic, and memory of the device's heap. */
static int count_teams(int *seen)
{
    int ticket = 0;

#pragma omp target teams map(tofrom : ticket, seen [0:4]) num_teams(4) thread_limit(64)
#pragma omp distribute
    for (int team = 0; team < 4; team++) {
        int *memory = malloc(8 * sizeof(int));
        int inside = 0;
#pragma omp parallel for reduction(+ : inside)
        for (int i = 0; i < 8; i++) {
            memory[i] = team + i;
            inside += memory[i];
        }
        free(memory);
        seen[team] = inside;
#pragma omp atomic update
        ticket += team + 1;
    }
    return ticket;
}

int main(void)
{
    static struct pair pairs[N];
    int seen[4] = {0};
    unsigned hash = 0;

    printf("sum %ld\n", fill());
#pragma omp target update from(table)
    for (int i = 0; i < N; i++) {
        hash = hash * 31 + (unsigned)table[i];
        pairs[i] = (struct pair){table[i], table[N - 1 - i]};
    }
    printf("table %u, swapped %d\n", hash, swap_pairs(pairs));
    for (int i = 0; i < N; i++)
        hash = hash * 31 + (unsigned)pairs[i].low;
    printf("pairs %u, tickets %d\n", hash, count_teams(seen));
    printf("teams %d %d %d %d\n", seen[0], seen[1], seen[2], seen[3]);
    return 0;
}
