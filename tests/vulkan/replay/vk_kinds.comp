#version 450
#extension GL_EXT_buffer_reference : require
// SPDX-License-Identifier: Apache-2.0
// word[i] = word[i] * 3 + constant, where KIND says what is what.
layout(local_size_x = 64) in;

#define STORAGE 0
#define TEXEL   1
#define IMAGE   2
#define INLINE  3
#define ADDRESS 4
#define READS   5 // of a uniform texel buffer

#if KIND == TEXEL
layout(set = 0, binding = 0, r32ui) uniform uimageBuffer words;
#define LOAD(i)       imageLoad(words, int(i)).x
#define STORE(i, x)   imageStore(words, int(i), uvec4(x))
#elif KIND == IMAGE
layout(set = 0, binding = 0, r32ui) uniform uimage2D words;
#define PLACE(i)      ivec2(i % 32, i / 32)
#define LOAD(i)       imageLoad(words, PLACE(i)).x
#define STORE(i, x)   imageStore(words, PLACE(i), uvec4(x))
#elif KIND == ADDRESS
layout(buffer_reference) buffer Words { uint word[]; };
#define LOAD(i)       words.word[i]
#define STORE(i, x)   words.word[i] = x
#else
layout(set = 0, binding = 0) buffer Words { uint word[]; };
#define LOAD(i)       word[i]
#define STORE(i, x)   word[i] = x
#endif

#if KIND == INLINE
layout(set = 0, binding = 1) uniform Constant { uint constant; };
#elif KIND == READS
layout(set = 0, binding = 1) uniform usamplerBuffer source;
#define constant texelFetch(source, int(gl_GlobalInvocationID.x)).x
#elif KIND == ADDRESS
layout(push_constant) uniform Constant { Words words; uint constant; };
#else
layout(push_constant) uniform Constant { uint constant; };
#endif

void main()
{
    uint i = gl_GlobalInvocationID.x;

    STORE(i, LOAD(i) * 3 + constant);
}
