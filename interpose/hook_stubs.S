/* SPDX-License-Identifier: Apache-2.0
 *
 * dlopen and dlsym as we export them, x86-64. Each saves its arguments, asks a C function what to do,
 * and jumps: the real function then sees the program's own return address, from which the linker
 * takes the caller's RUNPATH and the meaning of RTLD_NEXT. A C function that "returns real(...)" does
 * this only when the compiler makes it a jump.
 *
 * The C function returns the address to jump to, or NULL: then the stub returns what it left in
 * `result`.
 */
    .text

    .macro exported name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
    .endm

    .macro end_of name
    .cfi_endproc
    .size \name, . - \name
    .endm

/* struct linker_call in hook_linker.c: two arguments, the return address, the result. */
    .macro linker_call name, decide
    exported \name
    subq $40, %rsp
    .cfi_adjust_cfa_offset 40
    movq %rdi, (%rsp)
    movq %rsi, 8(%rsp)
    movq 40(%rsp), %rax
    movq %rax, 16(%rsp)
    movq $0, 24(%rsp)
    movq %rsp, %rdi
    call \decide
    movq %rax, %r11
    movq (%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 24(%rsp), %rax
    addq $40, %rsp
    .cfi_adjust_cfa_offset -40
    testq %r11, %r11
    je 1f
    jmp *%r11
1:
    ret
    end_of \name
    .endm

    linker_call dlopen, tsm_decide_dlopen
    linker_call dlsym, tsm_decide_dlsym

/* Addresses handed out for functions that we do not wrap: TSM_UNWRAPPED_MAX entries of 16 bytes.
 * Each pushes its number; everything that may carry an argument is kept around the C function. */
    .set entries, 512

    .globl tsm_unwrapped_entries
    .hidden tsm_unwrapped_entries
    .p2align 4
tsm_unwrapped_entries:
    .cfi_startproc
    .set entry, 0
    .rept entries
    .p2align 4
    endbr64
    pushq $entry
    .cfi_adjust_cfa_offset 8
    jmp unwrapped_common
    .cfi_adjust_cfa_offset -8
    .set entry, entry + 1
    .endr
    .cfi_endproc

    .type unwrapped_common, @function
    .p2align 4
unwrapped_common:
    .cfi_startproc
    .cfi_adjust_cfa_offset 8
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %rax
    subq $136, %rsp
    .cfi_adjust_cfa_offset 192
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movl 192(%rsp), %edi
    call tsm_unwrapped_called
    movq %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    addq $136, %rsp
    popq %rax
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    leaq 8(%rsp), %rsp
    .cfi_adjust_cfa_offset -200
    jmp *%r11
    .cfi_endproc
    .size unwrapped_common, . - unwrapped_common

    .section .note.GNU-stack, "", @progbits
