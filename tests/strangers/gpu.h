/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU as odd processes use it: the same few functions for each API. An error ends the program
 * with a message.
 */
#ifndef TESTS_STRANGERS_GPU_H
#define TESTS_STRANGERS_GPU_H

/* Initialises the API; once in each process. */
void gpu_begin(void);
/* Sends work that fills memory `count` times, reads it back, and returns a sum of what was read. By
 * the thread that began, or one that has attached; not by two threads at once. */
unsigned gpu_fill(unsigned char first, int count);
void gpu_attach(void);
/* One call that takes no lock, allocates nothing and needs next to no stack. Any thread. */
void gpu_call(void);
/* Has the API call `function` back on the calling thread; returns 0 if the API has no such call. */
int gpu_call_back(void (*function)(void));
/* The file name of the API's library, and a call of it found by dlsym() in `library`. NULL: there
 * is none. */
extern const char *const gpu_library;
void gpu_call_in(void *library);

#endif
