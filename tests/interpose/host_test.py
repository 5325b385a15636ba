# SPDX-License-Identifier: Apache-2.0
"""A recorded program behaves as it does without us, and its trace is complete. Argument: a test."""

import os
import sys

import interposed
from interposed import BUILD, equal, recorded, same, traces, true, view


def calls(trace):
    return [record['call'] for record in view(trace)[1]]


def only(folder):
    found = traces(folder)
    equal('files', len(found), 1)
    return found[0]


def complete(folder):
    trace = only(folder)
    equal('end', view(trace)[0]['end'], 'finished')
    return trace


def errno(folder):
    same(folder, BUILD / 'host_errno')
    complete(folder)


def files(folder):
    """Without stacks: libunwind opens a pipe in the program, before anything can be done about it."""
    same(folder, BUILD / 'host_files', TS_STACKS='off')
    equal('copies', calls(complete(folder)).count('cuMemcpyHtoD_v2'), 1000)


def signal(folder):
    same(folder, BUILD / 'host_signal')
    complete(folder)


def fork(folder):
    same(folder, BUILD / 'host_fork')
    found = traces(folder)
    equal('traces', len(found), 2)
    for trace in found:
        equal('end', view(trace)[0]['end'], 'finished')
        equal('fills', calls(trace).count('cuMemsetD8_v2'), 1)
        equal('first stream', view(trace)[0]['streams'], 1)
    equal('forks', sorted(calls(trace).count('fork') for trace in found), [0, 1])


def exec(folder):
    for way in ('execl', 'execlp', 'execle', 'execv', 'execvp', 'execve'):
        same(folder, BUILD / 'host_exec', way)
        trace = complete(folder)
        equal(way, calls(trace).count('cuMemsetD8_v2'), 2)
        trace.unlink()


def exit(folder):
    for way in ('exit', '_exit', '_Exit'):
        same(folder, BUILD / 'host_exit', way)
        trace = complete(folder)
        equal(way, calls(trace).count('cuMemsetD8_v2'), 1)
        trace.unlink()


def abort(folder):
    """No end is written, but nothing is lost."""
    same(folder, BUILD / 'host_exit', 'abort')
    trace = next(trace for trace in traces(folder) if trace.suffix == '.sbt')
    equal('fills', calls(trace).count('cuMemsetD8_v2'), 1)


def zstd(folder):
    same(folder, BUILD / 'host_zstd')
    complete(folder)


def maps(folder):
    same(folder, BUILD / 'host_maps', 'before', TS_STACKS='off')
    equal('nothing before the first call', traces(folder), [])
    same(folder, BUILD / 'host_maps', 'after', TS_STACKS='off')
    complete(folder)


def close(folder):
    same(folder, BUILD / 'host_close')
    equal('calls', calls(complete(folder)).count('cuDeviceGetCount'), 3)


def entry(folder):
    same(folder, BUILD / 'host_entry')
    for trace in traces(folder):
        trace.unlink()
    got = recorded(folder, BUILD / 'host_entry', 'owners')
    true(f'all are ours: {got.stdout} {got.stderr}', 'foreign: 0\n' in got.stdout)
    true('as many as are exported', int(got.stdout.split()[1]) > 1000)
    equal('taints', view(complete(folder))[0]['tainted'], 0)


def unrelated(folder):
    """A program that uses no GPU leaves no trace."""
    same(folder, '/bin/sh', '-c', 'echo $0; exit 3')
    equal('traces', traces(folder), [])


def relative(folder):
    """LD_PRELOAD with a relative path, and a program that goes elsewhere before it opens the
    driver."""
    interposed.CAPTURE = './' + os.path.basename(interposed.CAPTURE)
    os.chdir(os.path.dirname(os.environ['TS_TEST_CAPTURE']))
    recorded(folder, sys.executable, '-c', 'import ctypes, os; os.chdir("/"); '
             'ctypes.CDLL("libcuda.so.1").cuInit(0)')
    true('cuInit is recorded', 'cuInit' in calls(complete(folder)))


def missing(folder):
    """No driver at all: a program that asks in vain hears the same from the linker."""
    same(folder, BUILD / 'reach', 'dlopen', 'libcuda.so.1', drivers='/nonexistent')
    equal('traces', traces(folder), [])


with interposed.folder() as directory:
    globals()[sys.argv[1]](directory)
interposed.finish()
