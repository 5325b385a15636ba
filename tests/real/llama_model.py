#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a small language model of random weights (GGUF 3, architecture llama, 5.8 MB).

usage: llama_model.py FILE

The same bytes every time. What it says makes no sense; how it is computed is what a real model's is.
"""

import array
import random
import struct
import sys

WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY, CONTEXT = 256, 4, 512, 4, 512, 256
U32, F32, STRING, ARRAY = 4, 6, 8, 9  # kinds of metadata
TENSOR_F32, TENSOR_F16 = 0, 1
ALIGNMENT = 32


def text(value):
    raw = value.encode()
    return struct.pack('<Q', len(raw)) + raw


def number(value):
    return struct.pack('<II', U32, value)


def several(kind, values):
    return struct.pack('<IIQ', ARRAY, kind, len(values)) + b''.join(values)


def vocabulary():
    """Three marks, a token for each byte, and short words."""
    tokens = ['<unk>', '<s>', '</s>'] + [f'<0x{byte:02X}>' for byte in range(256)]
    tokens += [f'▁w{index}' for index in range(VOCABULARY - len(tokens))]
    kinds = [2, 3, 3] + [6] * 256
    kinds += [1] * (VOCABULARY - len(kinds))
    return tokens, kinds


def metadata():
    tokens, kinds = vocabulary()
    return {
        'general.architecture': struct.pack('<I', STRING) + text('llama'),
        'general.name': struct.pack('<I', STRING) + text('random'),
        'llama.context_length': number(CONTEXT),
        'llama.embedding_length': number(WIDTH),
        'llama.block_count': number(LAYERS),
        'llama.feed_forward_length': number(HIDDEN),
        'llama.attention.head_count': number(HEADS),
        'llama.attention.head_count_kv': number(HEADS),
        'llama.rope.dimension_count': number(WIDTH // HEADS),
        'llama.attention.layer_norm_rms_epsilon': struct.pack('<If', F32, 1e-5),
        'tokenizer.ggml.model': struct.pack('<I', STRING) + text('llama'),
        'tokenizer.ggml.tokens': several(STRING, [text(token) for token in tokens]),
        'tokenizer.ggml.scores': several(F32, [struct.pack('<f', -i) for i in range(VOCABULARY)]),
        'tokenizer.ggml.token_type': several(5, [struct.pack('<i', kind) for kind in kinds]),
        'tokenizer.ggml.bos_token_id': number(1),
        'tokenizer.ggml.eos_token_id': number(2),
        'tokenizer.ggml.unknown_token_id': number(0),
    }


def shapes():
    yield 'token_embd.weight', (WIDTH, VOCABULARY)
    yield 'output_norm.weight', (WIDTH,)
    yield 'output.weight', (WIDTH, VOCABULARY)
    for layer in range(LAYERS):
        for name in ('attn_norm', 'ffn_norm'):
            yield f'blk.{layer}.{name}.weight', (WIDTH,)
        for name in ('attn_q', 'attn_k', 'attn_v', 'attn_output'):
            yield f'blk.{layer}.{name}.weight', (WIDTH, WIDTH)
        for name in ('ffn_gate', 'ffn_up'):
            yield f'blk.{layer}.{name}.weight', (WIDTH, HIDDEN)
        yield f'blk.{layer}.ffn_down.weight', (HIDDEN, WIDTH)


def weights(chance, shape):
    """Ones where it is a norm; else halves of either sign between 1/32 and 1/8."""
    if len(shape) == 1:
        return TENSOR_F32, struct.pack(f'<{shape[0]}f', *[1.0] * shape[0])
    drawn = array.array('H', chance.randbytes(2 * shape[0] * shape[1]))
    halves = array.array('H', [(value & 0x8000) | 0x2800 + (value & 0x07ff) for value in drawn])
    return TENSOR_F16, halves.tobytes()


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def main():
    chance, facts = random.Random(1), metadata()
    described, content = [], b''
    for name, shape in shapes():
        kind, data = weights(chance, shape)
        described.append(text(name) + struct.pack('<I', len(shape)) +
                         struct.pack(f'<{len(shape)}Q', *shape) +
                         struct.pack('<IQ', kind, len(content)))
        content += padded(data)
    head = struct.pack('<4sIQQ', b'GGUF', 3, len(described), len(facts))
    head += b''.join(text(key) + value for key, value in facts.items()) + b''.join(described)
    with open(sys.argv[1], 'wb') as out:
        out.write(padded(head) + content)


main()
