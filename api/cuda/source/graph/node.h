/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs' nodes and executable graphs: what the files about them say to each other. Runs inside the
 * traced program: the rules of capture/capture.h hold.
 */
#ifndef API_CUDA_SOURCE_GRAPH_NODE_H
#define API_CUDA_SOURCE_GRAPH_NODE_H

#include "api/cuda/graph_parts.h"
#include "api/cuda/source/source.h"

/* A node of an executable graph has been given parameters (exec.c). */
void cuda_exec_set_node(struct tsm_call *call, CUgraphExec exec, CUgraphNode node,
                        const CUgraphNodeParams *params);

/* Finds words of a kernel for cuda_graph_parts.find_words (api/cuda/source/launch.c). */
cuda_graph_find_words cuda_graph_arguments;

/* Finds the graphs of a conditional node for cuda_graph_parts.find_bodies (bodies.c). */
cuda_graph_find_bodies cuda_graph_bodies;

/* Keeps them: the node was made with these parameters. */
void cuda_graph_keep_bodies(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS *params);

/* A function of the program in graphs' nodes (function.c). */
struct cuda_graph_function;

/* Creates the function that the driver gets in place of the program's; user data of
 * cuda_graph_function_run(). Never freed: graphs and their copies hold it. NULL: no memory. */
struct cuda_graph_function *cuda_graph_function_make(CUhostFn function, void *user);
void cuda_graph_function_run(void *function);

/* The last one that this thread made: for the call that it was made for. */
struct cuda_graph_function *cuda_graph_function_last(void);

/* In order of making. */
uint64_t cuda_graph_function_serial(const struct cuda_graph_function *function);

/* A launch, the command at `launch` of `stream`, is about to be sent that runs it once, as the
 * function number `rank` of the graph; what it writes then is that of the command as many places
 * and one after the launch. Launches run it in the order of these calls. */
void cuda_graph_function_sent(struct cuda_graph_function *function, uint32_t stream,
                              uint64_t launch, uint32_t rank);
/* ... and was refused by the driver: the last one is taken back. */
void cuda_graph_function_unsent(struct cuda_graph_function *function);

#endif
