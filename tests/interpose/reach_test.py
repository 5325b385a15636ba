# SPDX-License-Identifier: Apache-2.0
"""Whose cuInit a program reaches, by each way that there is. Argument: preload or audit.

Expected: hooked (ours), unhooked (the driver's), or what the program prints without us.
"""

import os
import sys

import interposed

MODE = sys.argv[1]
BUILD = interposed.BUILD
DRIVERS = BUILD / 'drivers'
NOWHERE = '/nonexistent'

# program, way, path, drivers, expected with LD_PRELOAD, expected with the auditor too
CASES = [
    ('reach_linked', 'linked', '', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'dlopen', 'libcuda.so.1', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'dlopen', DRIVERS / 'libcuda.so.1', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'dlopen', DRIVERS / 'libcuda.so.1', NOWHERE, 'hooked', 'hooked'),
    ('reach', 'dlopen', 'libcuda.so', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'default', '', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'plugin', BUILD / 'plugin.so', DRIVERS, 'hooked', 'hooked'),
    ('reach_linked', 'plugin', BUILD / 'plugin.so', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'plugin', BUILD / 'plugin_linked.so', DRIVERS, 'hooked', 'hooked'),
    ('reach_linked', 'plugin', BUILD / 'plugin_linked.so', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'deepbind', BUILD / 'plugin.so', DRIVERS, 'hooked', 'hooked'),
    ('reach', 'deepbind', BUILD / 'plugin_linked.so', DRIVERS, 'hooked', 'hooked'),
    # What a preloaded library cannot reach.
    ('reach_linked', 'deepbind', BUILD / 'plugin.so', DRIVERS, 'unhooked', 'hooked'),
    ('reach_linked', 'deepbind', BUILD / 'plugin_linked.so', DRIVERS, 'unhooked', 'hooked'),
    ('reach', 'dlmopen', BUILD / 'plugin.so', DRIVERS, 'unhooked', 'hooked'),
    ('reach', 'dlmopen', BUILD / 'plugin_linked.so', DRIVERS, 'unhooked', 'hooked'),
    # The caller's own RUNPATH, and nothing else, leads to the driver.
    ('reach', 'plugin', DRIVERS / 'plugin_runpath.so', NOWHERE, 'hooked', 'hooked'),
    ('reach', 'deepbind', DRIVERS / 'plugin_runpath.so', NOWHERE, 'unhooked', 'hooked'),
    # As without us.
    ('reach', 'dlopen', 'libcuda.so.1', NOWHERE, 'missing', 'missing'),
    ('reach', 'deepbind', BUILD / 'plugin.so', NOWHERE, 'missing', 'missing'),
    ('reach', 'lacking', '', DRIVERS, 'absent', 'absent'),
    ('reach', 'newer', '', DRIVERS, 'works', 'works'),
    ('reach_linked', 'newer', '', DRIVERS, 'works', 'works'),
    ('reach', 'noload', '', DRIVERS, 'not loaded', 'not loaded'),
    ('reach_linked', 'noload', '', DRIVERS, 'loaded', 'loaded'),
    ('reach', 'reopen', '', DRIVERS, 'hooked', 'hooked'),
]

with interposed.folder() as folder:
    for program, way, path, drivers, preload, audit in CASES:
        more = {'LD_AUDIT': os.environ['TS_TEST_AUDIT']} if MODE == 'audit' else {}
        got = interposed.recorded(folder, BUILD / program, way, path, drivers=drivers, **more)
        interposed.equal(f'{program} {way} {path} (drivers: {drivers}) {got.stderr}',
                         got.stdout.strip(), audit if MODE == 'audit' else preload)
interposed.finish()
