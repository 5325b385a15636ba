#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsreplay --replace-kernel`: a kernel that computes the same gives the verdict "same", another one "different", however it is launched
and whatever of its module it uses; one that does not fit is refused before anything is sent."""

import json
import os
import pathlib
import shutil
import sys
import tempfile

from made_code import cubin, fatbin
from recorded import BIN, record, run

WAYS = ('plain', 'cooperative', 'configured', 'attributes', 'graph', 'capture', 'library', 'modules')
HEAD = '.version {version}\n.target {target}\n.address_size 64\n'
VARIABLES = ('.visible .global .align 4 .u32 counter = 7;\n'
             '.visible .const .align 4 .b8 table[8] = {3, 0, 0, 0, 5, 0, 0, 0};\n'
             '.extern .shared .align 16 .b8 room[];\n')
HELPER = ('.func (.reg .u32 %out) helper(.reg .u32 %in)\n{\n shl.b32 %out, %in, 1;\n ret;\n}\n')
STEP = ('.visible .entry step(.param .u64 out, .param .u32 value)\n{{\n'
        ' .reg .u32 %r<9>; .reg .u64 %d<4>; .reg .pred %p;\n'
        ' .loc 1 1 1\n'
        ' ld.param.u64 %d1, [out]; ld.param.u32 %r1, [value]; mov.u32 %r2, %tid.x;\n'
        ' mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\n'
        ' ld.global.u32 %r3, [counter]; ld.const.u32 %r4, [table+4];\n'
        ' call (%r5), helper, (%r1);\n'
        ' ld.global.u32 %r6, [%d1];\n'
        ' {combine}\n'
        ' st.global.u32 [%d1], %r7;\n'
        ' bar.sync 0; setp.ne.u32 %p, %r2, 0; @%p bra DONE;\n'
        ' add.u32 %r3, %r3, {more}; st.global.u32 [counter], %r3;\nDONE:\n ret;\n}}\n')
COMBINE = 'mad.lo.u32 %r7, %r3, %r4, %r5; add.u32 %r7, %r7, %r2; xor.b32 %r7, %r7, %r6;'
SAME_COMBINE = 'mul.lo.u32 %r8, %r4, %r3; add.u32 %r7, %r5, %r2; add.u32 %r7, %r7, %r8; xor.b32 %r7, %r6, %r7;'
CLEAN = ('.visible .entry {name}(.param .u64 out, .param .u32 value)\n{{\n'
         ' .reg .u32 %r<9>; .reg .u64 %d<4>;\n'
         ' ld.param.u64 %d1, [out]; ld.param.u32 %r1, [value]; mov.u32 %r2, %tid.x;\n'
         ' mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2; ld.global.u32 %r3, [%d1];\n'
         ' {change}\n'
         ' st.global.u32 [%d1], %r3;\n ret;\n}}\n')
CHANGE = 'mad.lo.u32 %r3, %r3, 5, %r1;'
SAME_CHANGE = 'shl.b32 %r4, %r3, 2; add.u32 %r3, %r3, %r4; add.u32 %r3, %r1, %r3;'

OLD = HEAD.format(version='6.0', target='sm_70')
NEW = HEAD.format(version='7.0', target='sm_75')
MODULE = OLD + VARIABLES + HELPER + STEP.format(combine=COMBINE, more=1) + CLEAN.format(name='clean', change=CHANGE)

# What a file may say of the module's variables and functions.
EXTERN = ('.extern .global .align 4 .u32 counter;\n.extern .const .align 4 .b8 table[];\n'
          '.extern .func (.reg .u32 %o) helper(.reg .u32 %i);\n')
OWN_HELPER = HELPER.replace('shl.b32 %out, %in, 1', 'add.u32 %out, %in, %in')
OWN_SHARED = '.shared .align 4 .b8 room[16];\n'
NEW_VARIABLE = '.global .align 4 .u32 more_of_it;\n'


def write(name, text):
    if isinstance(text, bytes):
        pathlib.Path(name).write_bytes(text)
    else:
        pathlib.Path(name).write_text(text, encoding='utf-8')
    return name


def replay(trace, *options, **settings):
    return run([BIN / 'tracesmith', 'replay', '--device', 'emu', *options, trace], **settings)


def expect(status, trace, *options, said=None, **settings):
    done = replay(trace, *options, **settings)
    assert done.returncode == status, (status, options, done)
    assert said is None or said in done.stdout + done.stderr, (said, done)
    return done


def files():
    """Files, the option that names them, and whether they compute the same."""
    step, other = STEP.format(combine=SAME_COMBINE, more=1), STEP.format(combine=COMBINE, more=2)
    clean = CLEAN.format(name='clean', change=SAME_CHANGE)
    for text, same in ((step, True), (other, False)):
        yield 'step', OLD + VARIABLES + HELPER + text, '', same
        yield 'step', NEW + EXTERN + text, '', same
        yield 'step', OLD + VARIABLES.replace(' room[]', ' space[]') + OWN_HELPER + NEW_VARIABLE + text, '', same
        yield 'step', OLD + EXTERN.split('.extern .func', maxsplit=1)[0] + OWN_SHARED + OWN_HELPER + text, '', same
        yield 'step', MODULE.replace(STEP.format(combine=COMBINE, more=1), text), '', same
    for text, same in ((clean, True), (clean.replace('add.u32 %r3, %r1', 'sub.u32 %r3, %r1'), False)):
        yield 'clean', NEW + text, '', same
        yield 'clean', NEW + text.replace('entry clean', 'entry renamed'), '', same
        yield 'clean', NEW + text.replace('entry clean', 'entry renamed') + CLEAN.format(name='no', change=''), ':renamed', same
        yield 'clean', NEW + NEW_VARIABLE + OWN_SHARED + text, '', same
        yield 'clean', fatbin((75, NEW + text)), '', same
        yield 'clean', OLD + VARIABLES + text, '', same


def check_ways(image):
    """Each file in each way of launching: a fifth of them, or with TS_TEST_ALL all."""
    cases = list(files())
    for index, way in enumerate(WAYS):
        trace = record(f'{way}.sbt', 'replaced', image, way)
        expect(0, trace)
        for number, (kernel, text, of, same) in enumerate(cases):
            if (index + number) % 5 and not os.environ.get('TS_TEST_ALL'):
                continue
            path = write(f'{number}.ptx', text)
            done = expect(0 if same else 1, trace, f'--replace-kernel={kernel}={path}{of}', '--json')
            assert json.loads(done.stdout)['replaced_count'] == 1, done


def check_settings(image):
    """All ways in one trace, with settings that change how and what is sent."""
    trace = record('all.sbt', 'replaced', image)
    count = json.loads(run([BIN / 'tracesmith', 'info', '--json', trace]).stdout)['records']
    good = write('good.ptx', OLD + VARIABLES + HELPER + STEP.format(combine=SAME_COMBINE, more=1))
    bad = write('bad.ptx', NEW + CLEAN.format(name='clean', change=''))
    for options in ((), ('--loop=3',), ('--pace=stepped',), ('--order=permuted:3',), ('--grain=command',), (f'--range={count // 2}:{count}',),
                    ('--check=1',), ('--time=2:0',), ('--streams=0,1',), ('--keep-going',)):
        expect(0, trace, *options, f'--replace-kernel=step={good}')
        done = expect(1, trace, *options, f'--replace-kernel=step={good}', f'--replace-kernel=clean={bad}')
        assert '2 kernels ' in done.stdout + done.stderr, done
    both = write('both.ptx', OLD + CLEAN.format(name='clean', change=SAME_CHANGE))
    expect(0, trace, f'--replace-kernel=step={good}', f'--replace-kernel=clean={both}', said=', 2 kernels replaced, all ')
    expect(0, trace, f'--replace-kernel=*={write("whole.ptx", MODULE)}', said=', 2 kernels replaced')
    expect(0, trace, '--dry-run', f'--replace-kernel=step={good}')


def check_checkpoints(image):
    """From a checkpoint on, with variables that hold what they held then."""
    trace = record('checkpoints.sbt', 'replaced', image, TS_CHECKPOINT='30')
    info = json.loads(run([BIN / 'tracesmith', 'info', '--json', trace]).stdout)
    good = write('good.ptx', OLD + VARIABLES + HELPER + STEP.format(combine=SAME_COMBINE, more=1))
    bad = write('bad.ptx', OLD + VARIABLES + HELPER + STEP.format(combine=COMBINE, more=2))
    assert info['checkpoints'], info
    for checkpoint in info['checkpoints']:
        part = f'--range={checkpoint["seq"] + 1}:{info["records"]}'
        done = expect(0, trace, part, f'--replace-kernel=step={good}', said=f'from checkpoint {checkpoint["number"]} ')
        assert ', 1 kernel replaced' in done.stdout, done
        expect(1, trace, part, f'--replace-kernel=step={bad}')


def refusals():
    """What is said of files that do not fit, and the option."""
    step = STEP.format(combine=COMBINE, more=1)
    clean = CLEAN.format(name='clean', change=CHANGE)
    everything = VARIABLES + HELPER
    yield 'clean has 3 parameters, and the recorded kernel clean has 2', 'clean', clean.replace('value)', 'value, .param .u8 c)')
    yield 'clean has 1 parameters', 'clean', '.visible .entry clean(.param .u64 out)\n{ ret; }\n'
    yield 'parameter 1 of clean has 8 bytes at offset 8, and that of the recorded kernel clean 4 bytes at offset 8', 'clean', clean.replace(
        '.param .u32 value', '.param .u64 value')
    yield 'parameter 0 of clean has 4 bytes at offset 0', 'clean', clean.replace('.param .u64 out', '.param .u32 out')
    yield 'declares "counter" in another way', 'step', everything.replace('.u32 counter', '.u64 counter') + step
    yield 'declares "table" in another way', 'step', everything.replace('table[8] = {3, 0, 0, 0, 5, 0, 0, 0}', 'table[4]') + step
    yield 'gives "table" other initial values', 'step', everything.replace('5, 0, 0, 0}', '6, 0, 0, 0}') + step
    yield 'gives "counter" other initial values', 'step', everything.replace(' = 7', '') + step
    yield 'needs "missing"', 'step', everything + '.extern .global .u32 missing;\n' + step
    yield 'needs "absent"', 'clean', '.extern .func absent();\n' + clean
    yield 'declares several variables at once, beginning with "one"', 'step', everything + '.global .u32 one, two;\n' + step
    yield 'has no kernel "clean" whose parameters are understood; FILE:KERNEL', 'clean', clean.replace('clean', 'a') + clean.replace('clean', 'b')
    yield 'has no kernel "clean"', 'clean', '.func nothing() { ret; }\n'
    yield 'a statement of the PTX does not end', 'step', (everything + step)[:-3]
    yield 'the driver does not load it: CUDA_ERROR_INVALID_PTX', 'clean', clean.replace('mad.lo.u32', 'mad.low.u32')


def check_cut(image):
    """A file that ends anywhere: refused, or whole enough."""
    trace = record('cut.sbt', 'replaced', image, 'plain')
    whole = OLD + VARIABLES + HELPER + STEP.format(combine=COMBINE, more=1)
    for size in range(1, len(whole), 11 if os.environ.get('TS_TEST_ALL') else 173):
        done = replay(trace, f'--replace-kernel=step={write("cut.ptx", whole[:size])}')
        assert done.returncode == 2 and 'cut.ptx' in done.stderr, (size, done)


def check_refused(image):
    trace = record('refused.sbt', 'replaced', image, 'plain')
    for said, kernel, text in refusals():
        done = expect(2, trace, f'--replace-kernel={kernel}={write("refused.ptx", OLD + text)}', said=said)
        assert 'refused.ptx' in done.stderr, done
    good = write('good.ptx', OLD + CLEAN.format(name='clean', change=CHANGE))
    for said, options in (('no kernel "nothing" is launched; `tracesmith code` lists them', (f'--replace-kernel=nothing={good}',)),
                          ('nowhere.ptx: cannot be opened', ('--replace-kernel=clean=nowhere.ptx',)),
                          ('has no kernel "other"', (f'--replace-kernel=clean={good}:other',)),
                          ('is to be replaced by "good.ptx" and by "good.ptx"', (f'--replace-kernel=clean={good}', f'--replace-kernel=cl*={good}')),
                          ('is empty', (f'--replace-kernel=clean={write("empty.ptx", "")}',)),
                          ('is cut short', (f'--replace-kernel=clean={write("cut.bin", fatbin((70, OLD))[:40])}',)),
                          ('--replace-kernel', ('--replace-kernel=clean',)), ('--replace-kernel', (f'--replace-kernel=clean={good}:',))):
        expect(2, trace, *options, said=said)
    facts = {'name': 'clean', 'registers': 9, 'shared': 0, 'local': 0, 'constant': 16}
    code = cubin(80, [{**facts, 'params': [(0, 8), (8, 4)]}])
    expect(2, trace, f'--replace-kernel=clean={write("code.cubin", code)}', said='code.cubin: is machine code; the software GPU runs PTX')


CUDA = """__constant__ unsigned factors[4] = {1, 2, 3, 4};
__device__ unsigned counter = 7;
static __device__ __noinline__ unsigned helper(unsigned x) { return x * FACTOR; }
extern "C" __global__ void step(unsigned *out, unsigned value)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x ^ 1] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = helper(tile[threadIdx.x]) + value * factors[threadIdx.x & 3] + counter;
    if (!threadIdx.x)
        atomicAdd(&counter, 1);
}
extern "C" __global__ void clean(unsigned *out, unsigned value) { out[threadIdx.x] = out[threadIdx.x] * FACTOR ^ value; }
"""


def check_compiler():
    """What a compiler makes: a fat binary, compressed, with machine code; the whole source as PTX in its place."""
    nvcc = shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
    if not pathlib.Path(nvcc).exists():
        return
    write('real.cu', CUDA)
    for factor in (5, 6):
        for kind in ('fatbin', 'ptx'):
            code = 'code=[sm_80,compute_80]' if kind == 'fatbin' else 'code=compute_80'
            done = run([nvcc, f'-{kind}', '-lineinfo', f'-DFACTOR={factor}', '-gencode', f'arch=compute_80,{code}', 'real.cu', '-o',
                        f'real-{factor}.{kind}'])
            assert done.returncode == 0, done
    trace = record('real.sbt', 'replaced', 'real-5.fatbin', 'plain', 'library', 'graph', TS_EMU_CC='8.0')
    expect(0, trace, '--replace-kernel=*=real-5.ptx', said=', 2 kernels replaced')
    expect(1, trace, '--replace-kernel=step=real-6.ptx')
    expect(1, trace, '--replace-kernel=clean=real-6.ptx')
    expect(2, trace, '--replace-kernel=clean=real-6.fatbin:clean', said='has variables or functions in common with the recorded module')


def check_linked():
    """Code that was linked of two texts, of which one needs the other."""
    trace = record('linked.sbt', 'linked')
    done = run([BIN / 'tracesmith', 'code', '--extract=linked', '--kernel=run', trace])
    path, = [path for path in pathlib.Path('linked').iterdir() if '.entry run' in path.read_text()]
    text = path.read_text()
    own = text[:text.index('.version', 1)]
    expect(0, trace, f'--replace-kernel=run={path}')
    expect(0, trace, f'--replace-kernel=run={write("own.ptx", own)}', said=', 1 kernel replaced')
    expect(1, trace, f'--replace-kernel=run={write("other.ptx", own.replace("st.global.u32 [%rd1], %r2", "st.global.u32 [%rd1], %r1"))}')
    assert done.returncode == 0, done


def check_mangled():
    """Demangled names mean kernels, too."""
    image = write('mangled.ptx', MODULE)
    trace = record('names.sbt', 'replaced', image, 'plain')
    for name, status in (('step', 0), ('s*', 0), ('st?p', 0), ('ste', 2)):
        expect(status, trace, f'--replace-kernel={name}={image}')


def main():
    images = {'module.ptx': MODULE, 'module.fatbin': fatbin((80, bytes(64)), (70, MODULE), (130, 'for other machines'))}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, image in images.items():
            write(name, image)
        check_ways('module.ptx')
        check_settings('module.fatbin')
        check_checkpoints('module.ptx')
        check_refused('module.ptx')
        check_cut('module.ptx')
        check_mangled()
        check_linked()
        check_compiler()


sys.exit(main())
