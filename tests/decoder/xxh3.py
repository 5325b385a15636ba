# SPDX-License-Identifier: Apache-2.0
"""XXH3-64 with seed 0, from the xxHash specification. Slow, and independent of any library."""

import struct

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8"
    "fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb17"
    "0ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def u32(b, at):
    return struct.unpack_from("<I", b, at)[0]


def u64(b, at):
    return struct.unpack_from("<Q", b, at)[0]


def swap64(v):
    return int.from_bytes(v.to_bytes(8, "little"), "big")


def rotl64(v, n):
    return ((v << n) | (v >> (64 - n))) & M64


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def xxh64_avalanche(h):
    h = (h ^ (h >> 33)) * P64_2 & M64
    h = (h ^ (h >> 29)) * P64_3 & M64
    return h ^ (h >> 32)


def avalanche(h):
    h = (h ^ (h >> 37)) * PRIME_MX1 & M64
    return h ^ (h >> 32)


def up_to_16(b):
    n = len(b)
    if n > 8:
        low = u64(b, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32))
        high = u64(b, n - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48))
        return avalanche((n + swap64(low) + high + fold(low, high)) & M64)
    if n >= 4:
        h = (u32(b, n - 4) + (u32(b, 0) << 32)) ^ u64(SECRET, 8) ^ u64(SECRET, 16)
        h ^= rotl64(h, 49) ^ rotl64(h, 24)
        h = h * PRIME_MX2 & M64
        h ^= (h >> 35) + n
        h = h * PRIME_MX2 & M64
        return h ^ (h >> 28)
    if n:
        combined = (b[0] << 16) | (b[n >> 1] << 24) | b[n - 1] | (n << 8)
        return xxh64_avalanche(combined ^ u32(SECRET, 0) ^ u32(SECRET, 4))
    return xxh64_avalanche(u64(SECRET, 56) ^ u64(SECRET, 64))


def mix16(b, at, secret_at):
    return fold(u64(b, at) ^ u64(SECRET, secret_at), u64(b, at + 8) ^ u64(SECRET, secret_at + 8))


def up_to_128(b):
    n = len(b)
    acc = n * P64_1
    for i in range((n - 1) // 32, -1, -1):
        acc += mix16(b, 16 * i, 32 * i) + mix16(b, n - 16 * (i + 1), 32 * i + 16)
    return avalanche(acc & M64)


def up_to_240(b):
    n = len(b)
    acc = n * P64_1
    for i in range(8):
        acc += mix16(b, 16 * i, 16 * i)
    acc = avalanche(acc & M64)
    for i in range(8, n // 16):
        acc += mix16(b, 16 * i, 16 * (i - 8) + 3)
    acc += mix16(b, n - 16, 136 - 17)
    return avalanche(acc & M64)


def accumulate(acc, b, at, secret_words):
    data = struct.unpack_from("<8Q", b, at)
    for i in range(8):
        keyed = data[i] ^ secret_words[i]
        acc[i ^ 1] = (acc[i ^ 1] + data[i]) & M64
        acc[i] = (acc[i] + (keyed & M32) * (keyed >> 32)) & M64


def long_hash(b):
    n = len(b)
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    stripes = (len(SECRET) - 64) // 8
    words = [struct.unpack_from("<8Q", SECRET, 8 * i) for i in range(stripes)]
    scramble = struct.unpack_from("<8Q", SECRET, len(SECRET) - 64)
    blocks = (n - 1) // (64 * stripes)
    for block in range(blocks):
        for i in range(stripes):
            accumulate(acc, b, 64 * (block * stripes + i), words[i])
        for i in range(8):
            acc[i] = ((acc[i] ^ (acc[i] >> 47)) ^ scramble[i]) * P32_1 & M64
    for i in range((n - 1 - 64 * stripes * blocks) // 64):
        accumulate(acc, b, 64 * (blocks * stripes + i), words[i])
    accumulate(acc, b, n - 64, struct.unpack_from("<8Q", SECRET, len(SECRET) - 64 - 7))
    h = n * P64_1
    for i in range(4):
        h += fold(acc[2 * i] ^ u64(SECRET, 11 + 16 * i), acc[2 * i + 1] ^ u64(SECRET, 19 + 16 * i))
    return avalanche(h & M64)


def hash64(b):
    n = len(b)
    if n <= 16:
        return up_to_16(b)
    if n <= 128:
        return up_to_128(b)
    return up_to_240(b) if n <= 240 else long_hash(b)
