# SPDX-License-Identifier: Apache-2.0
"""A recorded program behaves as it does without us, and its trace is complete. Argument: a test, and what
it takes."""

import os
import pathlib
import sys

import interposed
from interposed import (BUILD, CAPTURE, environment, equal, recorded, run, same, traces, true,
                        view)


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


def last(folder):
    """A process ends with its last thread: ours are none."""
    for way, calls_there in ('last_thread', 3), ('last_call', 1):
        same(folder, BUILD / 'host_exit', way)
        trace = complete(folder)
        equal(way, calls(trace).count('cuDriverGetVersion'), calls_there)
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


# What a program may do (host_trouble.c) -> does it leave us the means to record when done early, late.
TROUBLE = {
    'close_all': (True, True), 'close_everything': (True, True), 'no_descriptors': (True, True),
    'no_file_size': (None, False), 'other_user': (True, True), 'change_root': (False, True),
    'profile_timer': (True, True), 'overflow': (True, True), 'forbid_uncommon': (True, True),
    'forbid_uncommon_unknown': (True, True), 'forbid_files': (False, True), 'forbid_killing': (None, None), 'forbid_rest': (None, None), 'forbid_looks': (None, None),
    'clone_forbids': (True, True), 'vfork_forbids': (True, True), 'vfork_forbids_clock': (True, True),
    'refused_filter': (True, True), 'wrong_filter': (True, None),
    'fork_in_callback': (None, True), 'vfork_exec': (True, True), 'many_threads': (True, True),
    'cancel_threads': (True, True), 'little_memory': (False, True), 'no_processes': (False, None),
    'exec_in_thread': (None, True), 'allow_or_log': (True, True),
    **{f'allow_or_{action}': (None, None) for action in ('die', 'end', 'trap', 'fail', 'lack', 'trace', 'ask')},
}


def trouble(folder):
    """None: nothing is to be expected but the same behaviour. False: one line says why not."""
    os.chmod(folder, 0o777)
    for what in sys.argv[2:]:
        for when, can_record in zip(('early', 'late'), TROUBLE[what]):
            with_us, without = trouble_both(folder, what, when)
            alone = without.stderr.splitlines()  # with what the software GPU says
            said = [line for line in with_us.stderr.splitlines() if 'tracesmith' in line and line not in alone]
            rest = [line for line in with_us.stderr.splitlines() if line not in said]
            equal(f'{what} {when}: status', with_us.returncode, without.returncode)
            equal(f'{what} {when}: output', with_us.stdout, without.stdout)
            equal(f'{what} {when}: messages', rest, alone)
            if without.returncode == 77:  # not on this machine
                continue
            if what in ('change_root', 'other_user') and 'cannot change' in without.stdout:  # not for this user
                can_record = True
            elif what == 'other_user' and not all(p.stat().st_mode & 1 for p in BUILD.resolve().parents):
                can_record = None  # he cannot load the driver from this build folder: below /root, for example
            if can_record:
                check_recorded(folder, f'{what} {when}')
            if can_record is not None:
                equal(f'{what} {when}: {said}', len(said), 0 if can_record else 1)
            if (what, when) == ('no_processes', 'early'):
                true(f'says what to do: {said}', any('ulimit -u' in line for line in said))
            for left in pathlib.Path(folder).iterdir():
                left.unlink()


def trouble_both(folder, *words):
    with_us = run([BUILD / 'host_trouble', *words], environment(
        LD_PRELOAD=CAPTURE, TS_OUTPUT=f'{folder}/t.sbt'))
    return with_us, run([BUILD / 'host_trouble', *words], environment())


def check_recorded(folder, what):
    head, records = view(f'{folder}/t.sbt')
    equal(f'{what}: end', head['end'], 'finished')
    equal(f'{what}: lost', head['lost'], 0)
    if not what.startswith('exec'):
        equal(f'{what}: fills', sum(r['call'] == 'cuMemsetD8_v2' for r in records), 20)
    equal(f'{what}: files', sorted(os.listdir(folder)), ['t.sbt'])


def missing(folder):
    """No driver at all: a program that asks in vain hears the same from the linker."""
    same(folder, BUILD / 'reach', 'dlopen', 'libcuda.so.1', drivers='/nonexistent')
    equal('traces', traces(folder), [])


with interposed.folder() as directory:
    globals()[sys.argv[1]](directory)
interposed.finish()
