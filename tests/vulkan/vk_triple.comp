#version 450
// SPDX-License-Identifier: Apache-2.0
layout(local_size_x = 64) in;
layout(binding = 0) buffer Words { uint word[]; };
layout(push_constant) uniform Constant { uint added; };

void main()
{
    word[gl_GlobalInvocationID.x] = word[gl_GlobalInvocationID.x] * 3u + added;
}
