#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith code`: what a trace loads, kernels with their parameters and what they take, launches, files, instructions."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / 'replay'))
from made_code import cubin, fatbin  # noqa: E402
from recorded import BIN, CAPTURE, EMU, record, run  # noqa: E402

HSA = pathlib.Path(os.environ['TEST_HSA_PROGRAMS'])
HEAD = '.version 7.1\n.target sm_75, debug\n.address_size 64\n'
BODY = ('{ .reg .u32 %r<3>; .reg .u64 %d; ld.param.u64 %d, [out]; ld.global.u32 %r1, [%d]; add.u32 %r1, %r1, 1;'
        ' st.global.u32 [%d], %r1; ret; }\n')
LIST = '(.param .u64 .ptr .global .align 4 out, .param .u32 value)\n'
PTX = (HEAD + '// a comment with .entry nothing\n'
       '.visible .global .align 4 .u32 counter = 7;\n.shared .align 4 .b8 tile[1024];\n.shared .v2 .f32 pairs[3], one;\n'
       '.extern .shared .align 16 .b8 rest[];\n'
       f'.visible .entry step{LIST}.maxntid 8, 4, 2\n{{ .local .align 8 .b8 own[24]; .shared .u16 few[5]; .reg .u32 %t;\n'
       ' mov.u32 %t, tile; mov.u32 %t, tile; mov.u32 %t, rest;\n' + BODY[1:] +
       f'.visible .entry clean{LIST}.reqntid 64\n' + BODY +
       '.entry _Z3addIfEvPT_S0_icd(.param .u64 a, .param .f32 b, .param .s16 c, .param .b8 d, .param .align 8 .b8 e[12], .param .f64 f)\n{ ret; }\n')
CUBIN = cubin(80, [
    {'name': 'clean', 'registers': 40, 'shared': 2048, 'local': 16, 'constant': 364, 'max_threads': 128, 'params': [(0, 8), (8, 4)]},
    {'name': 'ev\x1b[31mil', 'registers': 255, 'shared': 0, 'local': 0, 'constant': 0, 'block': (4, 5, 6), 'params': [(0, 24)]}], reserved=1024)


def ask(status, trace, *options, **settings):
    done = run([BIN / 'tracesmith', 'code', *options, trace], **settings)
    assert done.returncode == status, (status, options, done)
    assert not re.search('[\0-\x08\x0b-\x1f]', done.stdout), done.stdout
    return done


def listed(trace, *options):
    document = json.loads(ask(0, trace, '--json', *options).stdout)
    assert document['schema'] == 'tscode/1'
    return document['code']


def facts(kernel):
    return {name: kernel[name] for name in ('registers', 'shared_bytes', 'local_bytes', 'constant_bytes', 'max_threads', 'required_block')}


def expect_facts(kernel, *values):
    assert tuple(facts(kernel).values()) == values, (kernel['name'], facts(kernel), values)


def parameters(kernel):
    return [(p['offset'], p['size'], p['kind']) for p in kernel['parameters']]


def check_ptx():
    pathlib.Path('module.ptx').write_text(PTX, encoding='utf-8')
    trace = record('ptx.sbt', 'replaced', 'module.ptx', 'plain', 'graph', 'capture', 'modules')
    file, text = listed(trace)  # with a 0 at its end, and without
    assert (file['call'], file['object_type'], file['object'], file['count']) == ('cuModuleLoad', 'module', 1, 1), file
    assert (text['call'], text['count'], text['size'] - file['size']) == ('cuModuleLoadData', 4, 1), text
    member, = file['members']
    assert (member['kind'], member['version'], member['target'], member['size']) == ('PTX', '7.1', 'sm_75', len(PTX)), member
    step, clean, add = member['kernels']
    expect_facts(step, None, 1024 + 10, 24, None, 64, None)
    expect_facts(clean, None, 0, 0, None, None, [64, 1, 1])
    assert parameters(step) == [(0, 8, 'pointer'), (8, 4, 'u32')], step
    assert parameters(add) == [(0, 8, 'u64'), (8, 4, 'f32'), (12, 2, 's16'), (14, 1, 'b8'), (16, 12, 'bytes'), (32, 8, 'f64')], add
    assert add['demangled'] == 'void add<float>(float*, float, int, char, double)', add
    # Twice each: by itself, two in a graph, two captured.
    assert [(k['launch_count'], k['node_count']) for k in (step, clean, add)] == [(2, 4), (2, 6), (0, 0)], member
    assert add['first_seq'] is None and step['first_seq'] < clean['first_seq']
    assert [k['launch_count'] for k in text['members'][0]['kernels']] == [8, 8, 0], text
    for pattern, names in (('clean', ['clean']), ('add', [add['name']]), ('void add<float>*', [add['name']]), ('s*', ['step']),
                           ('*an*', ['clean']), (add['name'], [add['name']]), (add['demangled'], [add['name']]), ('*', ['step', 'clean', add['name']])):
        found = listed(trace, f'--kernel={pattern}')[0]['members'][0]['kernels']
        assert [k['name'] for k in found] == names, (pattern, found)
    for pattern in ('nothing', 'ste', 'float', 'ad', 'void'):
        ask(1, trace, f'--kernel={pattern}')
    shown = ask(0, trace).stdout
    assert 'step  2 launches, 4 graph nodes, first record' in shown and '64 threads at most' in shown and 'block 64 x 1 x 1 required' in shown, shown
    whole, part = ask(0, trace, '--disassemble').stdout, ask(0, trace, '--disassemble', '--kernel=clean').stdout
    assert whole.count('.visible .entry') == 4 and part.count('.visible .entry clean') == 2 and 'step' not in part, part
    ask(0, trace, '--extract=ptx')
    assert sorted(path.read_text() for path in pathlib.Path('ptx').iterdir()) == [PTX, PTX]
    assert {path.name for path in pathlib.Path('ptx').iterdir()} == {f'{code["hash"]}.ptx' for code in (file, text)}
    ask(2, trace, '--json', '--disassemble')


def check_fatbin():
    image = fatbin((80, CUBIN), (75, PTX))
    pathlib.Path('module.fatbin').write_bytes(image)
    trace = record('fatbin.sbt', 'replaced', 'module.fatbin', 'plain')
    code, = listed(trace)
    assert code['kind'] == 'fatbin' and [m['kind'] for m in code['members']] == ['cubin', 'PTX'], code
    clean, evil = code['members'][0]['kernels']
    assert code['members'][0]['target'] == 'sm_80'
    expect_facts(clean, 40, 2048, 16, 364, 128, None)
    expect_facts(evil, 255, 0, 0, 0, None, [4, 5, 6])
    assert parameters(clean) == [(0, 8, 'b64'), (8, 4, 'b32')] and parameters(evil) == [(0, 24, 'bytes')]
    assert clean['launch_count'] == code['members'][1]['kernels'][1]['launch_count'] == 2
    ask(0, trace, '--extract=fat')
    name = pathlib.Path('fat') / code['hash']
    assert name.with_suffix('.fatbin').read_bytes() == image and name.with_suffix('.1.ptx').read_text() == PTX
    assert name.with_suffix('.0.cubin').read_bytes()[:len(CUBIN)] == CUBIN
    # Types of arguments are PTX's, though the machine code comes first; without PTX they are guessed.
    view = run([BIN / 'tracesmith', 'view', trace]).stdout
    assert re.search(r'cuLaunchKernel clean<<<1, 64>>>.*arguments=\(0x[0-9a-f]+ #\d+, 6\)', view), view
    pathlib.Path('untyped.fatbin').write_bytes(fatbin((80, CUBIN), (75, PTX.replace('.u32 value', '.b32 value'))))
    view = run([BIN / 'tracesmith', 'view', record('untyped.sbt', 'replaced', 'untyped.fatbin', 'plain', 'capture', 'modules')]).stdout
    assert re.search(r'clean<<<1, 64>>>.*arguments=\(0x[0-9a-f]+ #\d+, 0x6\)', view) and re.search(r', 0x1e ~30\)', view), view
    # No disassembler; one that says evil things; one that fails.
    os.mkdir('path')
    shown = ask(0, trace, '--disassemble', PATH='/nowhere').stdout
    assert 'section .text.clean, 16 bytes' in shown and 'neither nvdisasm nor cuobjdump' in shown, shown
    tool = pathlib.Path('path/cuobjdump')
    tool.write_text('#!/bin/sh\n[ "$1" = --dump-sass ] && cmp -n 100 "$2" code >&2 && printf "\\tEXIT \\033[31m;\\n"\n', encoding='utf-8')
    tool.chmod(0o755)
    pathlib.Path('code').write_bytes(CUBIN)
    shown = ask(0, trace, '--disassemble', PATH='path:/usr/bin:/bin').stdout
    assert '\tEXIT ?[31m;' in shown, shown
    tool.write_text('#!/bin/sh\nexit 3\n', encoding='utf-8')
    assert 'cuobjdump refuses the code' in ask(2, trace, '--disassemble', PATH='path:/usr/bin:/bin').stderr


def check_damaged():
    """Machine code that somebody has changed: whatever it says, it is listed, or left out."""
    rng = random.Random(int(os.environ.get('TS_TEST_SEED', '1')))
    for number in range(200 if os.environ.get('TS_TEST_ALL') else 12):
        code = bytearray(CUBIN)
        for _ in range(rng.randint(1, 12)):
            code[rng.randrange(8, len(code))] = rng.choice((0, 1, 255, rng.randrange(256)))
        pathlib.Path('damaged.fatbin').write_bytes(fatbin((80, bytes(code)), (75, PTX)))
        trace = record('damaged.sbt', 'replaced', 'damaged.fatbin', 'plain')
        found, = listed(trace)
        assert len(found['members']) == 2 and len(found['members'][1]['kernels']) == 3, (number, found)
        ask(0, trace, '--disassemble', f'--extract=damaged-{number}', PATH='/nowhere')


def check_redacted():
    done = run([BIN / 'tracesmith', 'redact', '-o', 'plain.sbt', 'fatbin.sbt'])
    assert done.returncode == 0, done
    code, = listed('plain.sbt')
    assert (code['kind'], code['hash'], code['members']) == ('missing', None, []), code
    ask(0, 'plain.sbt', '--extract=none', '--disassemble')
    assert not list(pathlib.Path('none').iterdir())
    empty = record('empty.sbt', 'machine', 'devices')
    ask(0 if listed_any(empty) else 1, empty)


def listed_any(trace):
    return json.loads(run([BIN / 'tracesmith', 'code', '--json', trace]).stdout)['code']


def check_ptxas():
    """What the compiler says of its own cubins."""
    nvcc = shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
    ptxas = pathlib.Path(nvcc).parent / 'ptxas'
    if not ptxas.exists():
        return
    for target in ('sm_75', 'sm_80', 'sm_90', 'sm_100', 'sm_120'):
        source = PTX.replace('sm_75, debug', target).replace('.version 7.1', '.version 8.7').replace(BODY, BODY.replace('add.u32 %r1, %r1, 1;', 'mul.lo.u32 %r1, %r1, 77;'))
        pathlib.Path('real.ptx').write_text(source, encoding='utf-8')
        done = subprocess.run([ptxas, '-v', f'-arch={target}', 'real.ptx', '-o', 'real.cubin'], capture_output=True, text=True, check=False)
        if done.returncode:  # of a version that does not know the target
            continue
        said = {name: tuple(int(n) for n in (registers, (re.search(r'(\d+) bytes smem', rest) or [0, 0])[1], local)) for name, local, registers, rest
                in re.findall(r"entry function '(\w+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers(.*?)\n", done.stderr, re.S)}
        pathlib.Path('real.fatbin').write_bytes(fatbin((75, pathlib.Path('real.cubin').read_bytes()), (75, PTX)))
        code, = listed(record(f'real-{target}.sbt', 'replaced', 'real.fatbin', 'plain'))
        kernels = code['members'][0]['kernels']
        assert {k['name']: (k['registers'], k['shared_bytes'], k['local_bytes']) for k in kernels} == said and len(said) == 3, (target, said, kernels)
        by_name = {k['name']: k for k in kernels}
        assert by_name['step']['max_threads'] == 64 and by_name['clean']['required_block'] == [64, 1, 1], kernels
        for ours in code['members'][1]['kernels']:
            assert [(p[0], p[1]) for p in parameters(ours)] == [(p[0], p[1]) for p in parameters(by_name[ours['name']])], ours


def record_hsa(name, image, **settings):
    return run([HSA / 'hsa_dispatch', image], LD_LIBRARY_PATH=str(EMU), LD_PRELOAD=str(CAPTURE), TS_OUTPUT=name, **settings)


def check_hsa():
    if not (HSA / 'hsa_dispatch').exists():
        return
    assert record_hsa('hsa.sbt', HSA / 'hsa_kernels.hsaco').returncode == 0
    code, = listed('hsa.sbt')
    kernels = {k['name']: k for k in code['members'][0]['kernels']}
    assert code['kind'] == 'x86-64 code object' and parameters(kernels['scale.kd'])[0] == (0, 8, 'global_buffer'), code
    assert kernels['scale.kd']['launch_count'] + kernels['add.kd']['launch_count'] == 201, kernels
    for name in ('scale', 'scale.kd', 'scal?.kd'):
        assert [k['name'] for k in listed('hsa.sbt', f'--kernel={name}')[0]['members'][0]['kernels']] == ['scale.kd'], name
    ask(0, 'hsa.sbt', '--extract=hsa')
    assert (pathlib.Path('hsa') / f'{code["hash"]}.so').read_bytes() == (HSA / 'hsa_kernels.hsaco').read_bytes()
    shown = ask(0, 'hsa.sbt', '--disassemble').stdout
    assert 'Capstone is not here' in shown and 'section .text' in shown or re.search(r'^scale:\n.*^ +[0-9a-f]+  ret$', shown, re.S | re.M), shown
    image = HSA / 'gfx_kernels.hsaco'
    if not image.exists():
        return
    record_hsa('gfx.sbt', image, TS_EMU_HSA_ISA='amdgcn-amd-amdhsa--gfx906')
    code, = listed('gfx.sbt')
    member, = code['members']
    assert code['kind'] == 'HSA code object' and member['target'].endswith('gfx906') and member['kernels'], code
    for kernel in member['kernels']:
        assert kernel['registers'] > 0 and kernel['scalar_registers'] > 0 and kernel['max_threads'] > 0 and kernel['parameters'], kernel
    assert 'llvm-objdump is not in PATH' in ask(0, 'gfx.sbt', '--disassemble', PATH='/nowhere').stdout
    if shutil.which('llvm-objdump'):
        assert 's_endpgm' in ask(0, 'gfx.sbt', '--disassemble').stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_ptx()
        check_fatbin()
        check_redacted()
        check_damaged()
        check_ptxas()
        check_hsa()


sys.exit(main())
