#version 450
#extension GL_EXT_buffer_reference : require
// SPDX-License-Identifier: Apache-2.0
layout(local_size_x = 64) in;
layout(buffer_reference) buffer Words { uint word[]; };
layout(push_constant) uniform Constant { Words words; };

void main()
{
    words.word[gl_GlobalInvocationID.x] += gl_GlobalInvocationID.x;
}
