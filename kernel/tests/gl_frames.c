/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames by the GL driver of this machine, without a window: in each a triangle of another colour,
 * from a buffer that the program fills again. Prints what the GPU drew. Usage: gl_frames DRIVER
 * COUNT; DRIVER must be in GL's name of itself.
 */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64 };

static const char vertex_source[] = "attribute vec2 place;\n"
                                    "void main() { gl_Position = vec4(place, 0.0, 1.0); }\n";
static const char fragment_source[] = "precision mediump float;\n"
                                      "uniform vec4 colour;\n"
                                      "void main() { gl_FragColor = colour; }\n";

static void need(int value, const char *what)
{
    if (value)
        return;
    fprintf(stderr, "%s: EGL 0x%x\n", what, (unsigned)eglGetError());
    exit(1);
}

static void make_context(void)
{
    static const EGLint config_wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT,
                                           EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
    static const EGLint context_wanted[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    EGLDisplay display =
        eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    EGLConfig config;
    EGLContext context;
    EGLint count = 0;

    need(display && eglInitialize(display, NULL, NULL), "eglInitialize");
    need(eglChooseConfig(display, config_wanted, &config, 1, &count) && count, "eglChooseConfig");
    context = eglCreateContext(display, config, EGL_NO_CONTEXT, context_wanted);
    need(context && eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context),
         "eglCreateContext");
}

static GLuint shader(GLenum kind, const char *source)
{
    GLuint made = glCreateShader(kind);
    GLint ok = 0;

    glShaderSource(made, 1, &source, NULL);
    glCompileShader(made);
    glGetShaderiv(made, GL_COMPILE_STATUS, &ok);
    need(ok, "glCompileShader");
    return made;
}

/* Returns the place of the colour. */
static GLint make_program(void)
{
    GLuint program = glCreateProgram();
    GLint ok = 0;

    glAttachShader(program, shader(GL_VERTEX_SHADER, vertex_source));
    glAttachShader(program, shader(GL_FRAGMENT_SHADER, fragment_source));
    glBindAttribLocation(program, 0, "place");
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &ok);
    need(ok, "glLinkProgram");
    glUseProgram(program);
    return glGetUniformLocation(program, "colour");
}

static void make_target(void)
{
    GLuint buffer, texture, frame;

    glGenBuffers(1, &buffer);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
    glEnableVertexAttribArray(0);
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    need(glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE, "framebuffer");
    glViewport(0, 0, SIDE, SIDE);
}

/* Returns how many pixels have the triangle's colour. */
static int draw_frame(GLint colour, int number)
{
    static uint8_t pixels[SIDE * SIDE][4];
    GLfloat edge = 0.25f + 0.125f * (GLfloat)(number % 6);
    GLfloat places[] = {-edge, -edge, edge, -edge, 0.0f, edge};
    uint8_t green = (uint8_t)(255 - 16 * (number % 8));
    int count = 0;

    glBufferData(GL_ARRAY_BUFFER, sizeof(places), places, GL_STREAM_DRAW);
    glUniform4f(colour, 1.0f, (GLfloat)green / 255.0f, 0.0f, 1.0f);
    glClearColor(0.0f, 0.0f, 1.0f, 1.0f);
    glClear(GL_COLOR_BUFFER_BIT);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    for (int i = 0; i < SIDE * SIDE; i++)
        count += pixels[i][0] == 255 && pixels[i][1] == green && pixels[i][2] == 0;
    return count;
}

int main(int argc, char **argv)
{
    int frames = argc > 2 ? atoi(argv[2]) : 0, last = 0;
    GLint colour;

    need(argc > 2, "usage: gl_frames DRIVER COUNT");
    make_context();
    need(strstr((const char *)glGetString(GL_RENDERER), argv[1]) != NULL,
         (const char *)glGetString(GL_RENDERER));
    colour = make_program();
    make_target();
    for (int i = 0; i < frames; i++) {
        int count = draw_frame(colour, i);
        need(count > 0 && (i % 6 == 0 || count > last), "the triangle does not grow");
        last = count;
        printf("frame %d: %d pixels\n", i, count);
    }
    return 0;
}
