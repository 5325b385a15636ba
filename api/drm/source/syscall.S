/* SPDX-License-Identifier: Apache-2.0
 *
 * libc's syscall() as we export it, x86-64: an ioctl goes where ioctl() goes, what concerns descriptors and
 * mappings to number.c; everything else is jumped to with all registers as they came, because
 * syscall() may return twice, and takes what it finds.
 */
    .text
    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    endbr64
    cmpq $16, %rdi /* SYS_ioctl */
    je tsm_decide_ioctl
    cmpq $511, %rdi
    ja 4f
    leaq tsm_followed_calls(%rip), %r11
    btq %rdi, (%r11)
    jc tsm_decide_syscall
4:  movq real(%rip), %r11
    testq %r11, %r11
    je 1f
    jmp *%r11
1:  pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    subq $8, %rsp
    .cfi_adjust_cfa_offset 56
    call tsm_libc_syscall
    addq $8, %rsp
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_adjust_cfa_offset -56
    testq %rax, %rax
    je 2f
    movq %rax, real(%rip)
    jmp *%rax
    /* libc's is being looked for: what it would do. */
2:  movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    cmpq $-4095, %rax
    jb 3f
    movq %rax, %rdi
    jmp tsm_failed_syscall
3:  ret
    .cfi_endproc
    .size syscall, . - syscall

    .local real
    .comm real, 8, 8

    .section .note.GNU-stack, "", @progbits
