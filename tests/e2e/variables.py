#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A replay on the software GPU has memory, and variables of modules and libraries, where they were, to the byte: what a program makes of addresses comes
out as it was, and other bytes are other bytes. Where it has not, as with another driver, addresses in bytes are translated."""

import json
import os
import pathlib
import subprocess
import tempfile

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))


def record(name, *words):
    environment = {**os.environ, 'LD_LIBRARY_PATH': str(EMU), 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    return subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def replay(name, *options, **settings):
    done = subprocess.run([BIN / 'tracesmith', 'replay', '--device=emu', '--json', '--timeout=20', *options, name],
                          env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done
    return json.loads(done.stdout)


def check_same(name, *options):
    result = replay(name, *options)
    assert result['verdict'] == 'same' and not result['translated_count'] and not result['untranslated_count'], (name, options, result)


def main():
    assert record('v.sbt', 'variables') == 'module: 8 there whole\nanother: 8 there whole\nlibrary: 8 there whole\n'
    for options in [], ['--loop=2'], ['--order=permuted:3']:
        check_same('v.sbt', *options)
    # Nothing explains other bytes.
    result = replay('v.sbt', TS_EMU_NOOP='1')
    assert result['verdict'] == 'different', result
    for words in ['pointers'], ['releases'], ['rounds'], ['ends'], ['graphs'], ['pools'], ['managed'], ['managed_variables'], ['streams']:
        record('p.sbt', *words)
        check_same('p.sbt')


def check_moved():
    """On a driver that puts variables elsewhere: what differs is different, and equal equal, where all addresses were found."""
    assert record('plain.sbt', 'variables', 'plain') == 'module: 8 there plain\nanother: 8 there plain\nlibrary: 8 there plain\n'
    elsewhere = {'TS_EMU_PLACE': '0'}
    for options in [], ['--loop=2'], ['--order=permuted:3']:
        result = replay('plain.sbt', *options, **elsewhere)
        assert result['verdict'] == 'same' and result['translated_count'] >= 3 and result['translated_word_count'] >= 3, result
    # Kernels that do nothing, or lose stores, are seen.
    for settings in {'TS_EMU_NOOP': '1'}, {'TS_EMU_DROP': '40:3'}:
        result = replay('plain.sbt', **elsewhere, **settings)
        assert result['verdict'] == 'different', (settings, result)
    # Addresses between the multiples of 8 stay what they were: nobody knows what else differs by them.
    result = replay('v.sbt', **elsewhere)
    assert result['verdict'] == 'same', result
    result = replay('v.sbt', **elsewhere, TS_EMU_NOOP='1')
    assert result['verdict'] == 'cannot_tell' and 'addresses could not be had' in result['why'], result
    # Of a hash nobody can tell what it would be with other addresses.
    os.environ['TS_CHECKSUM'] = 'sync'
    record('hashes.sbt', 'variables', 'plain')
    del os.environ['TS_CHECKSUM']
    result = replay('hashes.sbt', **elsewhere)
    assert result['verdict'] == 'cannot_tell' and 'addresses could not be had' in result['why'], result
    # Where the trace has no bytes, a hash is all that there is.
    os.environ['TS_READBACK'] = 'hash'
    record('short.sbt', 'variables', 'plain')
    del os.environ['TS_READBACK']
    result = replay('short.sbt', **elsewhere)
    assert result['verdict'] == 'cannot_tell', result
    # What begins with a checkpoint has its addresses translated, too.
    for words in ['variables', 'plain'], ['managed_variables'], ['learns'], ['graphs'], ['linked'], ['captures']:
        record('p.sbt', *words)
        result = replay('p.sbt', **elsewhere)
        assert result['verdict'] == 'same', (words, result)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    check_moved()
