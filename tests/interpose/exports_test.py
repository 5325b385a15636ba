# SPDX-License-Identifier: Apache-2.0
"""libts_capture.so exports the drivers' functions, those of libc that it interposes, one for Vulkan's
loader where it is built with Vulkan, those on GPU files, and nothing else. Arguments: the lint of exported
symbols, the library, cuda_prototypes.h, then what else is built: "vulkan", "drm",
hsa_prototypes.h, hip_prototypes.h."""

import re
import subprocess
import sys
import tempfile

LIBC = ['_exit', '_Exit', 'clearenv', 'dlopen', 'dlsym', 'execl', 'execle', 'execlp', 'execv',
        'execve', 'execveat', 'execvp', 'execvpe', 'fexecve', 'fork', 'posix_spawn', 'posix_spawnp', 'prctl', 'putenv', 'setenv', 'setns', 'unsetenv']

# Nothing that begins with vk: it would stand in front of the loader's functions, or of variables of
# that name in libraries that find Vulkan's functions themselves.
VULKAN = ['ts_vkNegotiateLoaderLayerInterfaceVersion']

# Ways to a descriptor of a GPU file, to use it, to wait for it and to lose it.
DRM = ['__open64_2', '__open_2', '__openat64_2', '__openat_2', '__poll_chk', '__ppoll_chk', 'close', 'close_range',
       'closefrom', 'dup', 'dup2', 'dup3', 'epoll_ctl', 'epoll_pwait', 'epoll_pwait2', 'epoll_wait', 'fcntl', 'fcntl64',
       'ioctl', 'mmap', 'mmap64', 'mprotect', 'mremap', 'munmap', 'open', 'open64', 'openat', 'openat64', 'pidfd_getfd',
       'pkey_mprotect', 'poll', 'ppoll', 'pselect', 'recvmmsg', 'recvmsg', 'select', 'syscall', 'unshare']

# Where AMD's runtimes bring the tables of their functions.
TABLES = ['rocprofiler_configure', 'rocprofiler_set_api_table']

# Where programs tell them what they do.
ROCTX = ['roctxMarkA', 'roctxRangePop', 'roctxRangePushA', 'roctxRangeStartA', 'roctxRangeStop']

# Where the library that NVTX opens hands us its tables.
NVTX = ['ts_nvtx_attach']

lint, library, prototypes, *parts = sys.argv[1:]
with open(prototypes, encoding='utf-8') as f:
    driver = re.findall(r'^(?:CUresult )?(cu\w+)\(', f.read(), re.MULTILINE)
if len(driver) < 637:
    sys.exit(f'only {len(driver)} prototypes in {prototypes}')
for header in parts:
    if header.endswith('hsa_prototypes.h'):
        with open(header, encoding='utf-8') as f:
            hsa = re.findall(r'^\w+ (hsa_\w+)\(', f.read(), re.MULTILINE)
        if len(hsa) < 224:
            sys.exit(f'only {len(hsa)} prototypes in {header}')
        driver += hsa
    if header.endswith('hip_prototypes.h'):
        with open(header, encoding='utf-8') as f:
            driver += re.findall(r'^\w+\s+((?:hip|__hip|_Z\d+hip|_ZN8hip_impl)\w+)\(', f.read(), re.MULTILINE)
with tempfile.NamedTemporaryFile('w') as expected:
    expected.write('\n'.join(driver + LIBC + TABLES + ROCTX + NVTX + (VULKAN if 'vulkan' in parts else []) +
                             (DRM if 'drm' in parts else [])))
    expected.flush()
    sys.exit(subprocess.call([sys.executable, lint, library, expected.name]))
