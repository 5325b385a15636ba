# SPDX-License-Identifier: Apache-2.0
"""Programs on GPU files, recorded. usage: drm_test.py NAME

Meson gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, FAKE (the library that stands in for
a GPU), MODES (the program)."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

CAPTURE, TOOL, FAKE, MODES = (os.environ[f'TS_TEST_{name}'] for name in ('CAPTURE', 'TOOL', 'FAKE', 'MODES'))
# Drivers that the headers of this build lack
LACKS = os.environ['TS_TEST_LACKS'].split(',')
failures = []


def equal(what, got, expected):
    if got != expected:
        failures.append(f'{what}: {got!r:.2000}, not {expected!r:.2000}')


def true(what, value):
    if not value:
        failures.append(what)


def run(command, preload, **more):
    env = {**os.environ, 'LD_PRELOAD': ':'.join(preload), 'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0',
           **more}
    return subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=200,
                          check=False, stdin=subprocess.DEVNULL)


def tool(*arguments, **more):
    return run([TOOL, *arguments], [], **more)


def view(trace):
    shown = tool('view', '--json', trace)
    equal('tsview', (shown.returncode, shown.stderr), (0, ''))
    head, *records = map(json.loads, shown.stdout.splitlines())
    return head, records


class Recorded:
    """A program that ran with and without us: the same to the outside."""

    def __init__(self, mode, *arguments, driver='vgem', same=True, program=MODES, **more):
        self.folder = tempfile.TemporaryDirectory(prefix='ts-drm.')
        place = pathlib.Path(self.folder.name)
        more['FAKE_DRM'] = driver
        with_us = run([program, mode, *arguments], [CAPTURE, FAKE], TS_OUTPUT=place / 't.sbt', **more)
        if same:
            plain = run([program, mode, *arguments], [FAKE], **more)
            for what in ('stdout', 'stderr', 'returncode'):
                equal(what, getattr(with_us, what), getattr(plain, what))
        self.output = with_us.stdout
        self.traces = sorted(place.glob('*.sbt'))
        self.trace = place / 't.sbt'
        self.heads, self.records = {}, {}
        for trace in self.traces:
            self.heads[trace.name], self.records[trace.name] = view(trace)
            equal('check', tool('check', trace).stdout, f'{trace}: ok\n')

    def calls(self, name='', trace='t.sbt'):
        return [r for r in self.records[trace] if r['api'] == 'drm' and name in r['call']]


def one(records):
    equal('records', len(records), 1)
    return records[0]['args'] if records else {}


# ---- what is decoded ------------------------------------------------------------------------------


def vgem():
    r = Recorded('vgem')
    file = one(r.calls('gpu_file')[:1])
    equal('file', (file['driver'], file['version'], file['how'], file['node']), ('vgem', '1.0.0', 'opened', 'drm'))
    create = one(r.calls('MODE_CREATE_DUMB'))
    equal('in', (create['in']['width'], create['in']['handle']), (64, None))
    equal('out', (create['out']['handle'], create['out']['size']), ('bo#1', 8192))
    equal('map', one(r.calls('gpu_mmap'))['object'], 'bo#1')
    written = [w['args']['size'] for w in r.records['t.sbt'] if w['call'] == 'host_write']
    equal('written', written, [8192])
    equal('fd that an ioctl made', r.calls('gpu_file')[1]['args']['node'], 'dmabuf')
    equal('closed', [c['args']['file'] for c in r.calls('gpu_close')], ['file#2', 'file#1'])


def amdgpu():
    r = Recorded('amdgpu', driver='amdgpu')
    submits = r.calls('AMDGPU_CS')
    equal('streams are rings', [s['stream'] for s in submits], [0, 1, 0, 1])
    shown = json.loads(tool('stats', '--json', '--section=devices', r.trace).stdout)['devices']
    equal('one device', [(d['device'], d['stream_count']) for d in shown], [('drm 0xe280', 2)])
    chunk = submits[0]['args']['in']['chunks'][0]
    ib = chunk['chunk_data']['drm_amdgpu_cs_chunk_ib'][0]
    equal('chunk', (chunk['chunk_id'], ib['va_start'], ib['ip_type']),
          ('AMDGPU_CHUNK_ID_IB', '0x100000', 'AMDGPU_HW_IP_COMPUTE'))
    va = r.calls('GEM_VA')[1]['args']['in']
    equal('va', (va['va_address'], va['operation'], va['flags']),
          ('0x7f0000200000', 'AMDGPU_VA_OP_MAP', 'AMDGPU_VM_PAGE_READABLE|AMDGPU_VM_PAGE_WRITEABLE'))


def i915():
    r = Recorded('i915', driver='i915')
    pinned, relocated = (s['args']['in'] for s in r.calls('EXECBUFFER2'))
    equal('objects', [o['offset'] for o in pinned['buffers_ptr']], ['0x400000', '0x800000'])
    equal('relocations', len(relocated['buffers_ptr'][1]['relocs_ptr']), 64)
    equal('what the program said, not the kernel', relocated['buffers_ptr'][1]['relocs_ptr'][0]['presumed_offset'], '0x0')
    equal('engines', [s['stream'] for s in r.calls('EXECBUFFER2')], [0, 1])
    equal('parameter', one(r.calls('GETPARAM'))['out']['value'], [8])


def xe():
    r = Recorded('xe', driver='xe')
    first, second = r.calls('VM_BIND')[1:3]
    equal('bound', (first['args']['in']['u']['bind']['addr'], first['args']['in']['u']['bind']['u']['obj_offset']),
          ('0x200000', '0x0'))
    binds = second['args']['in']['u']['vector_of_binds']
    equal('memory of the program', ('userptr' in binds[0]['u'], binds[0]['range']), (True, 8192))
    equal('signals', [s['u']['handle'] for s in second['args']['in']['syncs']], ['syncobj#1'])
    equal('queues', [s['stream'] for s in r.calls('XE_EXEC') if s['call'] == 'DRM_IOCTL_XE_EXEC'], [0, 1])
    for more in ({}, {'FAKE_DRM_TAKEN': '1'}):
        status, result = replay(r.trace, 'xe', **more)
        equal('replayed', (status, result.get('error')), (0, None))
    true('compared', result['checksum_count'] > 0)
    status, result = replay(r.trace, 'xe', FAKE_DRM_WRONG='1')
    equal('wrong', (status, 'of file#1' in json.dumps(result)), (1, True))
    shown = run([os.environ['TS_TEST_HOSTILE'], r.trace], [])
    equal('hostile', (shown.returncode, shown.stderr), (0, ''))


def xe_fences():
    """Numbers in memory that the device writes when it is done: in a variable of the program, or in an object."""
    r = Recorded('xe_fences', driver='xe')
    equal('waits', len(r.calls('WAIT_USER_FENCE')), 4)
    for more in ({}, {'FAKE_DRM_TAKEN': '1'}):
        status, result = replay(r.trace, 'xe', **more)
        equal('replayed', (status, result.get('error')), (0, None))
    true('compared', result['checksum_count'] > 0)
    status, result = replay(r.trace, 'xe', FAKE_DRM_WRONG='1')
    equal('wrong', status, 1)


def nouveau():
    r = Recorded('nouveau', driver='nouveau')
    push = one(r.calls('PUSHBUF'))['in']
    equal('push', [(p['bo_index'], p['length']) for p in push['push']], [(1, 512)])
    equal('buffers', [b['handle'] for b in push['buffers']], ['bo#1', 'bo#2'])
    equal('maps', [m['args']['object'] for m in r.calls('gpu_mmap')], ['bo#1', 'bo#2'])


def virtgpu():
    r = Recorded('virtgpu', driver='virtio_gpu')
    execbuffer = one(r.calls('EXECBUFFER'))
    equal('command', execbuffer['in']['command'][:8], '09004b00')
    equal('handles', execbuffer['in']['bo_handles'], ['bo#1'])
    equal('fence', r.calls('gpu_file')[1]['args']['node'], 'sync_file')


def strange():
    r = Recorded('strange')
    unknown = one(r.calls('gpu_ioctl'))
    equal('raw', (unknown['request'], unknown['in']), ('0xc010647e', '01000000020000000300000004000000'))
    failed = one(r.calls('GEM_CLOSE'))
    equal('failed', (r.calls('GEM_CLOSE')[0]['result'], failed['in']['handle']), ('EINVAL', 'bo#999'))
    no_argument = one(r.calls('GET_CAP'))
    equal('no argument', no_argument['in'], None)
    shorter = one(r.calls('CREATE_DUMB'))
    equal('a shorter struct', (shorter['request'], shorter['in']['width']), ('0xc01864b2', 8))


# ---- how files are followed -------------------------------------------------------------------------


def duplicates():
    r = Recorded('duplicates')
    equal('one file', {c['args']['file'] for c in r.calls('GET_CAP')}, {'file#1'})
    equal('descriptors', len({c['args']['fd'] for c in r.calls('GET_CAP')}), 6)
    equal('duplicates', len(r.calls('gpu_dup')), 5)
    equal('closed', len(r.calls('gpu_close')), 6)


def passed():
    r = Recorded('passed')
    equal('how', [f['args']['how'] for f in r.calls('gpu_file')], ['opened', 'received'])
    equal('of', one(r.calls('GET_CAP'))['file'], 'file#2')


def forked():
    r = Recorded('forked')
    equal('traces', len(r.traces), 2)
    child = [t.name for t in r.traces if t.name != 't.sbt'][0]
    equal('the child finds it', one(r.calls('gpu_file', child))['how'], 'found')
    equal('both use it', (len(r.calls('GET_CAP')), len(r.calls('GET_CAP', child))), (1, 1))


def forked_maps():
    """What the parent had mapped is not followed in the child, and said."""
    r = Recorded('forked_maps')
    child = [t.name for t in r.traces if t.name != 't.sbt'][0]
    equal('child', [c['args']['what'] for c in r.records[child] if c['call'] == 'unmodelled'],
          ['memory of a GPU that was mapped before a fork'])
    equal('parent', unmodelled(r), [])


def closed():
    """A number that was closed, but not by close(), is another file's."""
    r = Recorded('closed')
    equal('closed', len(r.calls('gpu_close')), 2)
    equal('no mappings of the others', r.calls('gpu_mmap'), [])


class Odd(Recorded):
    """Of drm_odd.c."""

    def __init__(self, mode):
        super().__init__(mode, program=os.environ['TS_TEST_ODD'])
        self.children = [t.name for t in self.traces if t.name != 't.sbt']

    def files(self, trace='t.sbt'):
        """How each came, in order."""
        return [(f['args']['how'], f['args']['file']) for f in self.calls('gpu_file', trace)]


def numbers():
    """syscall() with the number of what libc has a function for."""
    r = Odd('numbers')
    equal('one file', r.files(), [('opened', 'file#1')])
    equal('used', {c['args']['file'] for c in r.calls('GET_CAP')}, {'file#1'})
    equal('duplicates', [d['args']['fd'] for d in r.calls('gpu_dup')][1:], [50, 51, 60])
    equal('mapped', [m['args']['size'] for m in r.calls('gpu_mmap') + r.calls('gpu_munmap')], [4096, 4096])
    equal('closed, and no ioctl on what has the number now', [c['args']['fd'] for c in r.calls('gpu_close')][1:], [50, 51, 60])


def same():
    """A descriptor that came past libc, of a file that is known."""
    r = Odd('same')
    equal('one file', r.files(), [('opened', 'file#1')])
    equal('duplicates', (len(r.calls('gpu_dup')), {c['args']['file'] for c in r.calls('GET_CAP')}), (2, {'file#1'}))


def reused():
    """Closed past libc: the first ioctl that the new file does not understand tells it."""
    r = Odd('reused')
    equal('two files', r.files(), [('opened', 'file#1'), ('opened', 'file#2')])
    equal('one that failed', [c['result'] for c in r.calls('GET_CAP')], [0, 0, 'ENOTTY'])


def received():
    r = Odd('received')
    equal('by recvmmsg()', (r.files(), one(r.calls('GET_CAP'))['file']), ([('opened', 'file#1')], 'file#1'))


def processes():
    """Children that no handler of fork() hears of have a trace that is whole; vfork()'s do nothing to ours."""
    for mode in ('cloned', 'sharing', 'spawned'):
        r = Odd(mode)
        equal(f'{mode}: traces', len(r.children), 1)
        equal(f'{mode}: the child finds it', [how for how, _ in r.files(r.children[0])], ['found'])
        equal(f'{mode}: both use it', (len(r.calls('GET_CAP')), len(r.calls('GET_CAP', r.children[0]))), (1, 1))
    r = Odd('vforked')
    equal('still known', (r.files(), len(r.calls('gpu_close')), len(r.calls('GET_CAP'))), ([('opened', 'file#1')], 0, 1))


def unshared():
    r = Odd('unshared')
    equal('said', unmodelled(r), ['descriptors of GPU files that only one thread has'])
    equal('not closed for the others', (len(r.calls('gpu_close')), len(r.files())), (0, 1))
    r = Odd('unshared_alone')
    equal('of one thread', (unmodelled(r), len(r.calls('gpu_close'))), ([], 1))


def closes_all():
    r = Odd('closes_all')
    equal('two files', r.files(), [('opened', 'file#1'), ('opened', 'file#2')])
    equal('all', (len(r.calls('GET_CAP')), len(r.calls('gpu_close'))), (3, 1))


def rooted():
    """No /proc, and no place for traces."""
    r = Odd('rooted')
    equal('all', (r.files(), len(r.calls('GET_CAP')), len(r.calls('gpu_dup'))), ([('opened', 'file#1')], 3, 1))


def may_count():
    """May we have the kernel count ioctls?"""
    return os.geteuid() == 0 and any(pathlib.Path(f'/sys/kernel/{place}/events/syscalls/sys_enter_ioctl').exists()
                                     for place in ('tracing', 'debug/tracing'))


def elf32():
    """A program of 32 bits that ends with status 5."""
    code = bytes.fromhex('b801000000bb05000000cd80')
    head = b'\x7fELF\1\1\1' + bytes(9) + struct.pack('<HHIIIIIHHHHHH', 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return head + struct.pack('<8I', 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096) + code


def unreachable():
    """What LD_PRELOAD does not reach runs, and is said; what it did is counted where the kernel may."""
    program = os.environ['TS_TEST_STATIC']
    shown = run([TOOL, 'ioctls', '--', program], [])
    lines = shown.stderr.splitlines()
    equal('static', (shown.returncode, lines[0]), (7, f'tracesmith ioctls: {program} is statically linked: LD_PRELOAD does '
                                                   'not reach it; it runs, but is not recorded'))
    behind = run([TOOL, 'ioctls', 'sh', '-c', program], []).stderr.splitlines()
    if may_count():
        true('counted', lines[1].startswith('tracesmith ioctls: 5 ioctls on DRM files went past libc'))
        equal('of a program that a shell starts', behind, lines[1:])
    with tempfile.TemporaryDirectory(prefix='ts-drm.') as folder:
        small = pathlib.Path(folder) / 'small'
        small.write_bytes(elf32())
        small.chmod(0o755)
        shown = run([TOOL, 'ioctls', small], [])
        true('32 bits', ' is a 32-bit program: LD_PRELOAD does not reach it' in shown.stderr.splitlines()[0])
        true('ran, where the kernel runs such', shown.returncode in (5, 126))


def executed():
    r = Recorded('executed')
    equal('traces', len(r.traces), 2)
    child = [t.name for t in r.traces if t.name != 't.sbt'][0]
    equal('inherited', one(r.calls('gpu_file', child))['how'], 'found')


def raw():
    r = Recorded('raw')
    # It goes to the kernel, past the library that stands in for a GPU.
    equal('syscall(SYS_ioctl)', [c['result'] for c in r.calls('GET_CAP')], ['ENOTTY'])


def maps():
    r = Recorded('maps')
    equal('maps', [m['args']['size'] for m in r.calls('gpu_mmap')], [16384, 32768])
    equal('unmaps', [m['args']['size'] for m in r.calls('gpu_munmap')], [16384, 32768])


def interrupted():
    r = Recorded('interrupted', FAKE_DRM_EINTR='5')
    caps = r.calls('GET_CAP')
    equal('collapsed', sum(c['args']['retries'] for c in caps), 2)
    equal('not tried again', [c['result'] for c in caps if c['result']], ['EINTR'])


def unmodelled(r):
    return [c['args']['what'] for c in r.records['t.sbt'] if c['call'] == 'unmodelled']


def unfollowed():
    """Memory that is not followed is said, and a replay does not pretend."""
    r = Recorded('unfollowed', driver='nouveau')
    equal('tainted', unmodelled(r),
          ['DRM_IOCTL_NOUVEAU_SVM_INIT'])
    status, result = replay(r.trace, 'nouveau')
    equal('refused', (status, 'DRM_IOCTL_NOUVEAU_SVM_INIT is not among the ioctls that are safe' in result['error']), (2, True))


def memory():
    """What the program gave to the device without mmap(): recorded, and in a replay memory of its own."""
    for mode, driver in (('i915_memory', 'i915'), ('amdgpu_memory', 'amdgpu')):
        r = Recorded(mode, driver=driver)
        equal(f'{mode}: followed', unmodelled(r), [])
        true(f'{mode}: contents', [w for w in r.records['t.sbt'] if w['call'] == 'host_write'])
        for more in ({}, {'FAKE_DRM_TAKEN': '1'}):
            status, result = replay(r.trace, driver, **more)
            equal(f'{mode}: replayed', (status, result.get('error')), (0, None))
        equal(f'{mode}: checksums', result['checksum_count'], 2)
        status, result = replay(r.trace, driver, FAKE_DRM_WRONG='1')
        equal(f'{mode}: wrong', (status, 'of file#1' in json.dumps(result)), (1, True))
    gone = [c['call'] for c in r.calls() if c['call'] in ('gpu_munmap', 'DRM_IOCTL_GEM_CLOSE')]
    equal('unmapped', gone, ['gpu_munmap', 'gpu_munmap'])


def chains():
    """Linked extensions are followed, whatever they lead to, and passed to the device again."""
    r = Recorded('chains', driver='i915')
    create = one(r.calls('CONTEXT_CREATE_EXT'))['in']['extensions']['i915_context_create']
    params = [e['drm_i915_gem_context_create_ext_setparam']['param'] for e in create]
    equal('params', [p['param'].removeprefix('I915_CONTEXT_PARAM_') for p in params], ['PRIORITY', 'VM', 'ENGINES'])
    equal('numbers', [params[0]['value'], params[1]['value']], [{'number': 2**64 - 5}, {'handle_vm': 'vm#1'}])
    engines = params[2]['value']['i915_context_param_engines'][0]
    equal('engines', [e['engine_class'] for e in engines['engines']], [0, 1, 2])
    balance = engines['extensions'][0]['i915_context_engines_load_balance']
    equal('in a chain', [e['engine_instance'] for e in balance['engines']], [0, 1])
    regions = r.calls('GEM_CREATE_EXT')[0]['args']['in']['extensions'][0]['drm_i915_gem_create_ext_memory_regions']
    equal('regions', [g['memory_class'] for g in regions['regions']], [1, 0])
    fences = one(r.calls('EXECBUFFER2'))['in']['cliprects_ptr']['i915_execbuffer'][0]
    fences = fences['drm_i915_gem_execbuffer_ext_timeline_fences']
    equal('fences', (fences['values_ptr'], fences['handles_ptr'][1]['handle']), ([7, 0x100000008], 'syncobj#1'))
    equal('known', unmodelled(r), [])
    for more in ({}, {'FAKE_DRM_TAKEN': '1'}):
        status, result = replay(r.trace, 'i915', **more)
        equal('replayed', (status, result.get('error')), (0, None))
    shown = run([os.environ['TS_TEST_HOSTILE'], r.trace], [])
    equal('hostile', (shown.returncode, shown.stderr), (0, ''))


def chain_unknown():
    r = Recorded('chain_unknown', driver='i915')
    create = one(r.calls('CONTEXT_CREATE_EXT'))['in']['extensions']['i915_context_create']
    equal('head', create[1], {'i915_user_extension': {'name': 99, 'flags': 0, 'rsvd': [0, 0, 0, 0]}})
    equal('and what follows it', create[2]['drm_i915_gem_context_create_ext_setparam']['param']['value'], {'number': 1})
    equal('tainted', unmodelled(r), ['an extension of an ioctl\'s argument that is not known'])
    status, result = replay(r.trace, 'i915')
    equal('refused', (status, 'an extension of an ioctl' in result['error']), (2, True))
    true('said', '1 extensions of ioctls\' arguments are not known' in tool('ioctls', r.trace).stderr)


def chain_wrong():
    r = Recorded('chain_wrong', driver='i915')
    looped, unread = r.calls('CONTEXT_CREATE_EXT')
    equal('bounded', (looped['result'], len(looped['args']['in']['extensions']['i915_context_create'])), ('E2BIG', 512))
    equal('nobody reads it', (unread['result'], unread['args']['in']['extensions']), (0, {}))


def udmabuf():
    """Memfds of the program that became dma-bufs: what it writes there by any way, and what the device does."""
    r = Recorded('udmabuf', driver='amdgpu')
    equal('followed', unmodelled(r), [])
    equal('files', [f['args']['node'] for f in r.calls('gpu_file')], ['drm', 'udmabuf', 'dmabuf', 'udmabuf', 'dmabuf'])
    views = [m['args'] for m in r.calls('gpu_mmap') if m['args']['file'] in ('file#3', 'file#5')]
    gone = [m['args']['address'] for m in r.calls('gpu_munmap')]
    equal('looked at until they go', [v['address'] in gone for v in views], [True, True])
    written = [w['args']['payload' if 'payload' in w['args'] else 'size'] for w in r.records['t.sbt'] if w['call'] == 'host_write']
    true('contents', len(written) >= 8)
    true('shown', 'looked at 2097152 bytes of 6<dmabuf#3> at 0x' in tool('ioctls', r.trace).stdout)
    for more in ({}, {'FAKE_DRM_TAKEN': '1'}):
        status, result = replay(r.trace, 'amdgpu', **more)
        equal('replayed', (status, result.get('error')), (0, None))
    equal('checksums', result['checksum_count'], 2)
    status, result = replay(r.trace, 'amdgpu', FAKE_DRM_WRONG='1')
    equal('wrong', (status, 'of file#3' in json.dumps(result)), (1, True))
    shown = run([os.environ['TS_TEST_HOSTILE'], r.trace], [])
    equal('hostile', (shown.returncode, shown.stderr), (0, ''))
    r = Recorded('udmabuf', driver='amdgpu', TS_DRM='calls')
    equal('without contents', len(r.calls('gpu_mmap')), 1)


def heap():
    r = Recorded('heap', driver='amdgpu')
    equal('followed', unmodelled(r), [])
    status, result = replay(r.trace, 'amdgpu')
    equal('replayed', (status, result.get('error'), result['checksum_count'] > 0), (0, None, True))
    status, result = replay(r.trace, 'amdgpu', FAKE_DRM_WRONG='1')
    equal('wrong', status, 1)


def checkpoint():
    """A checkpoint has nothing of DRM files, and says so."""
    r = Recorded('beside_cuda', TS_CHECKPOINT='2', TS_DRM='all', LD_LIBRARY_PATH=os.environ['TS_TEST_EMU'])
    true('one was taken', [c for c in r.records['t.sbt'] if c['call'] == 'checkpoint_end'])
    true('and said', 'a checkpoint without memory of DRM files' in unmodelled(r))


def off():
    r = Recorded('vgem', TS_DRM='off')
    equal('records', [c for name in r.records for c in r.calls('', name)], [])


# ---- tracesmith ioctls --------------------------------------------------------------------------------


def lines_of(text):
    """Without times and addresses."""
    text = re.sub(r'^ *[0-9.]+ ', '', text, flags=re.M)
    text = re.sub(r' <[0-9.]+>', '', text)
    return re.sub(r'0x7[0-9a-f]{9,}', 'ADDRESS', text).splitlines()


def listing():
    r = Recorded('vgem')
    shown = tool('ioctls', r.trace)
    lines = lines_of(shown.stdout)
    equal('lines', (len(lines), shown.stderr), (13, ''))
    equal('what changed', lines[1], 'DRM_IOCTL_MODE_CREATE_DUMB(3<vgem#1>, {height=32 width=64 bpp=32 flags=0 '
          'handle=none pitch=0 size=0} => {handle=bo#1 pitch=256 size=8192}) = 0')
    equal('map', lines[3], 'mmap(3<vgem#1>, offset 0x100000, 8192, bo#1) = ADDRESS')
    equal('nothing changed', lines[8], 'DRM_IOCTL_PRIME_FD_TO_HANDLE(3<vgem#1>, {handle=bo#1 flags=0x80002 fd=4}) = 0')
    equal('made', lines[7], 'made = 4<dmabuf#2>')


def listing_failed():
    r = Recorded('strange')
    shown = tool('ioctls', '--failed', r.trace)
    lines = lines_of(shown.stdout)
    equal('unknown', lines[0], 'ioctl 0xc010647e(3<vgem#1>, [01000000020000000300000004000000]) = -1 EINVAL (Invalid argument)')
    equal('failed', lines[1], 'DRM_IOCTL_GEM_CLOSE(3<vgem#1>, {handle=bo#999 pad=0}) = -1 EINVAL (Invalid argument)')
    equal('said', shown.stderr, 'tracesmith ioctls: 1 ioctls are not known: shown raw\n')


def listing_lost():
    r = Recorded('amdgpu_lost', driver='amdgpu', FAKE_DRM_LOST='3')
    equal('before', r.output, '2\n')
    shown = tool('ioctls', '--failed', r.trace)
    true('the submit', shown.stdout.rstrip().partition(' <')[0].endswith(' = -1 ECANCELED (Operation canceled)'))
    equal('said', shown.stderr, 'tracesmith ioctls: 1 submits were refused: the driver had reset their context, '
          'or lost the device\n')
    equal('counted', json.loads(tool('ioctls', '--summary', '--json', r.trace).stdout)['lost_submits'], 1)


def listing_property():
    r = Recorded('property')
    lines = lines_of(tool('ioctls', '-e', '*GETPROPERTY', r.trace).stdout)
    true('its lists', lines[1].endswith('=> {values_ptr=[0 1] enum_blob_ptr=[{value=0 name="Overlay"} '
         '{value=1 name="Primary"}]}) = 0'))


def listing_commit():
    """What an atomic commit changes: how much there is of a list, another list says."""
    r = Recorded('commit', driver='takes_all')
    first, second = (c['args']['in'] for c in r.calls('ATOMIC'))
    equal('lists', (first['props_ptr'], first['prop_values_ptr']), ([8, 9, 10], [1, 45, 7]))
    equal('nothing says how many', second['props_ptr'], None)
    equal('lease', one(r.calls('CREATE_LEASE'))['in']['object_ids'], [31, 40])
    equal('blob', one(r.calls('CREATEPROPBLOB'))['in']['data'], '01000000')
    lines = lines_of(tool('ioctls', '-e', '*ATOMIC', r.trace).stdout)
    equal('by name', lines[0].partition('}, ')[2], 'plane#31 {type=1 9=45}, object#40 {10=7}) = 0')
    shown = run([os.environ['TS_TEST_HOSTILE'], r.trace], [])
    equal('hostile', (shown.returncode, shown.stderr), (0, ''))


def listing_names():
    r = Recorded('names')
    names = [c['args']['in']['text'] if c['args']['in'] else None for c in r.calls('SET_NAME')]
    equal('names', names, ['a texture', 'edge', None])
    shown = run([os.environ['TS_TEST_HOSTILE'], r.trace], [])
    equal('hostile', (shown.returncode, shown.stderr), (0, ''))
    true('shown', 'DMA_BUF_SET_NAME_B(4<dmabuf#2>, {text="a texture"})' in tool('ioctls', r.trace).stdout)
    given = pathlib.Path(r.folder.name) / 'given'
    replay(r.trace, 'vgem', FAKE_DRM_NAMES=str(given))
    equal('given again', given.read_text().split('\n'), ['a texture', 'edge', ''])


def submits():
    """Streams are what the drivers' submits name."""
    for driver, streams in (('radeon', [0, 1]), ('v3d', [0, 1, 2]), ('vc4', [0]), ('panfrost', [0, 1]), ('msm', [0, 1]),
                            ('etnaviv', [0, 1]), ('lima', [0, 1]), ('tegra', [0])):
        if driver in LACKS:
            continue
        r = Recorded(driver, driver=driver)
        equal(driver, [c['stream'] for c in r.calls('SUBMIT') + r.calls('RADEON_CS')], streams)
        status, result = replay(r.trace, driver)
        equal(f'{driver}: refused', (status, 'not among the ioctls that are safe' in result['error']), (2, True))


def submit_lists():
    """What the drivers' submits lead to."""
    def args(driver, call):
        return Recorded(driver, driver=driver).calls(call)[-1]['args']['in']

    chunks = args('radeon', 'RADEON_CS')['chunks']
    equal('radeon', [list(c['chunk_data'].values())[0] for c in chunks][0], ['0xc0001000', '0x7'])
    equal('radeon: reloc', chunks[1]['chunk_data']['drm_radeon_cs_reloc'][0]['handle'], 'bo#1')
    equal('vc4', [args('vc4', 'SUBMIT_CL')[name] for name in ('bin_cl', 'bo_handles', 'in_sync')],
          ['010203', ['bo#1', 'bo#2'], 'syncobj#5'])
    equal('vc4: label', args('vc4', 'LABEL')['name'], 'name')
    equal('tegra', args('tegra', 'SUBMIT')['gather_data_ptr'], ['0x1', '0x2', '0x3'])
    if 'v3d' in LACKS:
        return
    sync = args('v3d', 'SUBMIT_CL')['extensions']['v3d_submit'][0]['drm_v3d_multi_sync']
    equal('v3d', [sync[way][0]['handle'] for way in ('in_syncs', 'out_syncs')], ['syncobj#5', 'syncobj#6'])
    submit = args('msm', 'SUBMIT')
    equal('msm', (submit['cmds'][0]['relocs'][0]['reloc_offset'], submit['in_syncobjs'][0]['handle']), (64, 'syncobj#5'))
    infos = [c['args']['in']['value'] for c in Recorded('msm', driver='msm').calls('GEM_INFO')]
    equal('msm: names and numbers', infos, [{'text': 'name'}, {'number': 0}])
    equal('panfrost', args('panfrost', 'SUBMIT')['in_syncs'], ['syncobj#1', 'syncobj#2'])
    equal('etnaviv', args('etnaviv', 'SUBMIT')['stream'], '030e010807000000')
    equal('lima', args('lima', 'SUBMIT')['frame'][:24], '010000000200000003000000')


def vmwgfx():
    r = Recorded('vmwgfx', driver='vmwgfx')
    equal('streams are contexts', [c['stream'] for c in r.calls('EXECBUF')], [0, 1])
    alloc = one(r.calls('ALLOC'))
    equal('one struct before, another after', (alloc['in']['size'], 'map_handle' in alloc['out']), (8192, True))
    equal('commands', r.calls('EXECBUF')[0]['args']['in']['commands'], '10040000080000000500000007000000')
    equal('layout', one(r.calls('UPDATE_LAYOUT'))['in']['rects'][0]['w'], 640)
    status, result = replay(r.trace, 'vmwgfx')
    equal('refused', (status, 'not among the ioctls that are safe' in result['error']), (2, True))


def habanalabs():
    r = Recorded('habanalabs')
    equal('node', [f['args']['node'] for f in r.calls('gpu_file')], ['drm', 'habanalabs'])
    chunk = one(r.calls('HL_IOCTL_CS'))['in']['u']['u']['chunks_execute'][0]
    equal('chunk', (chunk['queue_index'], chunk['u']['cb_handle']), (5, '0x10'))
    equal('by its operation', list(one(r.calls('HL_IOCTL_MEMORY'))['in']['u']), ['map_host'])
    equal('memory that is not followed', unmodelled(r), ['HL_IOCTL_MEMORY'])


def past():
    r = Recorded('savage', driver='savage')
    submit = one(r.calls('CMDBUF'))['in']
    equal('savage', (submit['cmd_addr'], submit['box_addr'][0]['x2']), ('01000000000000000700000009000000', 64))
    equal('r128', one(Recorded('r128', driver='r128').calls('DEPTH'))['in']['buffer'], ['0x1', '0x2', '0x3'])
    r = Recorded('via', driver='via')
    equal('via: memory of the program', (one(r.calls('DMA_BLIT'))['in']['num_lines'], unmodelled(r)), (2, []))


def accelerators():
    job = one(Recorded('powervr', driver='powervr').calls('SUBMIT'))['in']['jobs']['array']['drm_pvr_job'][0]
    equal('powervr', (job['cmd_stream'], job['sync_ops']['array']['drm_pvr_sync_op'][0]['handle']), ('0102030000000000', 'syncobj#5'))
    r = Recorded('intel_vpu', driver='intel_vpu')
    equal('ivpu', ([c['stream'] for c in r.calls('SUBMIT')], r.calls('SUBMIT')[0]['args']['in']['buffers_ptr']), ([0, 1], ['bo#1', 'bo#2']))
    execute = one(Recorded('qaic', driver='qaic').calls('EXECUTE_BO'))['in']
    equal('qaic', (execute['dbc_id'], [e['handle'] for e in execute['data']]), (3, ['bo#1', 'bo#2']))


def listing_nvidia():
    r = Recorded('nvidia')
    lines = lines_of(tool('ioctls', '-e', 'gpu_ioctl', r.trace).stdout)
    parameters = one(r.calls('gpu_ioctl')[:1])
    equal('parameters', (parameters['parameters'], parameters['parameters_out']),
          ('010203' + 101 * '00', '020203' + 101 * '00'))
    equal('control', lines[0].partition(', parameters=')[0], 'NV_ESC_RM_CONTROL(4<nvidia#2>, client=0xc1d00001 '
          'object=0x5c000003 command=0x20800110 (NV2080_CTRL_CMD_GPU_GET_NAME_STRING) flags=0x0 parameters_size=0x68 '
          '=> status=0x0')
    true('both', re.search(r', parameters=\[010203.*\] => \[020203.*\]\) = 0', lines[0]))
    equal('driver not known', 'NV0073_CTRL_CMD_SYSTEM_GET_CONNECT_STATE?)' in lines[1], True)
    equal('version', lines[2].startswith('NV_ESC_CHECK_VERSION_STR('), True)
    equal('driver known', '(NV0073_CTRL_CMD_SYSTEM_GET_SCANLINE)' in lines[3], True)
    equal('carried', lines[4], 'NV_ESC_IOCTL_XFER_CMD(4<nvidia#2>, NV_ESC_RM_ALLOC size=0x30) = 0')
    equal('class', lines[5], 'NV_ESC_RM_ALLOC(4<nvidia#2>, client=0xc1d00001 parent=0x5c000003 object=0x5c000009 '
          'class=0xc86f (HOPPER_CHANNEL_GPFIFO_A) parameters_size=0x8 => status=0x0) = 0')
    equal('uvm', [re.sub('>.*', '', line) for line in lines[6:]],
          ['UVM_REGISTER_CHANNEL(4<nvidia_uvm#3', 'UVM_INITIALIZE(4<nvidia_uvm#3', 'ioctl 0x000000fa(4<nvidia_uvm#3'])
    true('unnamed are counted', '1 ioctls are not known' in tool('ioctls', r.trace).stderr)


def listing_commands():
    r = Recorded('virtgpu', driver='virtio_gpu')
    lines = lines_of(tool('ioctls', '--commands', '-e', '*EXECBUFFER', r.trace).stdout)
    equal('commands', [line.strip() for line in lines[1:]], ['virgl RESOURCE_INLINE_WRITE words 75'])


def counted_in(trace):
    head, _ = view(trace)
    return {k: v for k, v in head['metadata'].items() if k.startswith('drm.ioctls_')}


def census():
    """What goes past libc is counted by the kernel, where it may, and said."""
    with tempfile.TemporaryDirectory(prefix='ts-drm.') as folder:
        trace = pathlib.Path(folder) / 't.sbt'
        shown = run([TOOL, 'record', '--census', '-o', trace, '--', MODES, 'past'], [FAKE], FAKE_DRM='vgem')
        found = counted_in(trace)
        behind = pathlib.Path(folder) / 'behind.sbt'
        run([TOOL, 'record', '--census', '-o', behind, '--', 'sh', '-c', f'{MODES} past; true'], [FAKE], FAKE_DRM='vgem')
        equal('of a program that a shell starts', counted_in(behind).keys(), found.keys())
        said = [line for line in shown.stderr.splitlines() if 'past libc' in line]
        again = [line for line in tool('ioctls', '-c', trace).stderr.splitlines() if 'past libc' in line]
        equal('said again', [line.partition(': ')[2] for line in again], [line.partition(': ')[2] for line in said])
        if 'drm.ioctls_uncounted' in found:
            equal('not known', (len(found), len(said)), (1, 1))
            return
        # One and the driver's version were recorded; those the stand-in answered, not the kernel.
        equal('counted', found, {'drm.ioctls_counted': '21', 'drm.ioctls_recorded': '3'})
        true('said', said and said[0].startswith('tsrecord: 18 of 21 ioctls on DRM files went past libc'))


def summary():
    r = Recorded('interrupted', FAKE_DRM_EINTR='5')
    shown = json.loads(tool('ioctls', '-c', '--json', r.trace).stdout)
    cap = [i for i in shown['ioctls'] if i['name'] == 'DRM_IOCTL_GET_CAP'][0]
    equal('counts', (shown['schema'], cap['calls'], cap['errors'], cap['retries']), ('ioctls/1', 14, 1, 2))
    text = tool('ioctls', '-c', r.trace).stdout.splitlines()
    equal('head and total', (text[0].split()[-1], text[-1].split()[-1]), ('ioctl', 'total'))


def live():
    """Standard output and status are the program's; ioctls come on standard error."""
    # The last line says that nobody counts the ioctls, where that is so.
    more = 0 if may_count() else 1
    shown = run([TOOL, 'ioctls', '--', MODES, 'vgem'], [FAKE], FAKE_DRM='vgem')
    equal('output', (shown.returncode, shown.stdout.split()[0]), (0, 'vgem'))
    equal('lines', len(lines_of(shown.stderr)), 13 + more)
    equal('and why', 'whether ioctls went past libc is not known: ' in shown.stderr, more == 1)
    slow = run([TOOL, 'ioctls', '-e', 'DRM_IOCTL_GET_CAP', '--', MODES, 'slow'], [FAKE], FAKE_DRM='vgem')
    equal('each once', len(lines_of(slow.stderr)), 12 + more)
    nothing = run([TOOL, 'ioctls', 'sh', '-c', 'exit 3'], [])
    line, _, why = nothing.stderr.partition(' through libc; whether past it is not known: ')
    equal('no GPU', (nothing.returncode, line.rstrip('\n')), (3, 'tracesmith ioctls: sh used no GPU file'))
    equal('and that it may be wrong', why == '', may_count())


# ---- replay -----------------------------------------------------------------------------------------

DRIVERS = {'amdgpu': 'amdgpu', 'i915': 'i915', 'nouveau': 'nouveau', 'virtgpu': 'virtio_gpu'}
if 'vgem' not in LACKS:
    DRIVERS['vgem'] = 'vgem'


def replay(trace, driver, **more):
    shown = run([TOOL, 'replay', '--json', trace], [FAKE], FAKE_DRM=driver, **more)
    return shown.returncode, json.loads(shown.stdout)


def replayed():
    """The same device computes the same, also with other numbers for objects."""
    for mode, driver in DRIVERS.items():
        r = Recorded(mode, driver=driver)
        status, result = replay(r.trace, driver)
        equal(f'{mode}: status', status, 0)
        true(f'{mode}: checksums', result['checksum_count'] > 0)
        status, result = replay(r.trace, driver, FAKE_DRM_TAKEN='1')
        equal(f'{mode}: other numbers', status, 0)
    status, result = replay(r.trace, driver, FAKE_DRM_BUSY='3')
    equal('a device that takes longer', (status, result.get('error')), (0, None))


def replayed_wrongly():
    """A device that stores other bytes is found out."""
    for mode, driver in DRIVERS.items():
        r = Recorded(mode, driver=driver)
        status, result = replay(r.trace, driver, FAKE_DRM_WRONG='1')
        if mode == 'vgem':
            equal('it computes nothing', status, 0)
            continue
        equal(f'{mode}: status', status, 1)
        true(f'{mode}: place', 'of file#1' in json.dumps(result))


def replayed_results():
    """What queries find is another time in each run: a difference there says nothing, and that is said."""
    r = Recorded('results', driver='virtio_gpu')
    status, result = replay(r.trace, 'virtio_gpu')
    equal('same', (status, result['timed_count']), (0, 0))
    status, result = replay(r.trace, 'virtio_gpu', FAKE_DRM_WRONG='1')
    equal('other (docs/verdict.md, row R20)', (status, result['timed_count']), (2, 1))


def replayed_each_wait():
    r = Recorded('amdgpu', driver='amdgpu', TS_CHECKSUM='sync')
    status, result = replay(r.trace, 'amdgpu')
    equal('checksums', (status, result['checksum_count']), (0, 10))


def replayed_for_times():
    """There are none: that is said before anything runs."""
    r = Recorded('amdgpu', driver='amdgpu')
    shown = run([TOOL, 'replay', '--time=2', r.trace], [FAKE], FAKE_DRM='amdgpu')
    equal('refused', (shown.returncode, 'no times of the device for drm' in shown.stderr, shown.stdout), (2, True, ''))


# ---- many -------------------------------------------------------------------------------------------


def small():
    """Little stack: a coroutine's, a signal handler's (below 0; the kernel puts some 3.5 KiB there itself)."""
    for mode, driver in (('amdgpu', 'amdgpu'), ('virtgpu', 'virtio_gpu'), ('nouveau', 'nouveau'), ('udmabuf', 'amdgpu'),
                         ('i915', 'i915'), ('chains', 'i915'), ('amdgpu_memory', 'amdgpu')):
        for size in ('16384', '-12288', '8192', '-8192'):
            for settings in ({}, {'TS_CHECKSUM': 'sync', 'TS_STACKS': 'all'}):
                r = Recorded(mode, driver=driver, DRM_SMALL=size, LD_BIND_NOW='1', **settings)
                equal(f'{mode} {size}: end', r.heads['t.sbt']['end'], 'finished')


def storm():
    """A million calls of eight threads: nothing is lost, and what is kept in memory does not grow. Behind the first
    fifth come 100 MB of records."""
    with tempfile.TemporaryDirectory(prefix='ts-drm.') as folder:
        trace = pathlib.Path(folder) / 't.sbt'
        ran = run([MODES, 'storm', 1000000], [CAPTURE, FAKE], FAKE_DRM='vgem', TS_OUTPUT=trace)
        shown = json.loads(tool('ioctls', '-c', '--json', trace).stdout)
    calls = {i['name']: i['calls'] for i in shown['ioctls']}
    equal('all are there', (calls.get('DRM_IOCTL_GET_CAP'), shown['lost']), (1000000, 0))
    grown = re.search(r'grown (-?\d+) KiB', ran.stdout)
    true(f'memory stays: {ran.stdout}', grown and int(grown[1]) < 16384)


def main(tests):
    tests[sys.argv[1]]()
    print('\n'.join(failures))
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    main(globals())
