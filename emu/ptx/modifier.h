/* SPDX-License-Identifier: Apache-2.0
 *
 * The words that may follow a dot in an instruction or directive. Types come first, so that a type
 * is the modifier of the same number.
 */
#ifndef EMU_PTX_MODIFIER_H
#define EMU_PTX_MODIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Formats that only conversions and matrices have: class x. Sizes are those of a whole operand. */
#define PTX_SMALL_TYPES(X)                                                                         \
    X(E4M3, "e4m3", 1, 'x')                                                                        \
    X(E5M2, "e5m2", 1, 'x')                                                                        \
    X(E4M3X2, "e4m3x2", 2, 'x')                                                                    \
    X(E5M2X2, "e5m2x2", 2, 'x')                                                                    \
    X(E2M1X2, "e2m1x2", 1, 'x')                                                                    \
    X(E2M3X2, "e2m3x2", 2, 'x')                                                                    \
    X(E3M2X2, "e3m2x2", 2, 'x')                                                                    \
    X(UE8M0X2, "ue8m0x2", 2, 'x')                                                                  \
    X(S2, "s2", 1, 'x')                                                                            \
    X(U2, "u2", 1, 'x')                                                                            \
    X(S4, "s4", 1, 'x')                                                                            \
    X(U4, "u4", 1, 'x')                                                                            \
    X(B1, "b1", 1, 'x')

/* name, bytes in memory, class: b bits, u unsigned, s signed, f float, p predicate, x other */
#define PTX_TYPES(X)                                                                               \
    X(U8, "u8", 1, 'u')                                                                            \
    X(U16, "u16", 2, 'u')                                                                          \
    X(U32, "u32", 4, 'u')                                                                          \
    X(U64, "u64", 8, 'u')                                                                          \
    X(S8, "s8", 1, 's')                                                                            \
    X(S16, "s16", 2, 's')                                                                          \
    X(S32, "s32", 4, 's')                                                                          \
    X(S64, "s64", 8, 's')                                                                          \
    X(B8, "b8", 1, 'b')                                                                            \
    X(B16, "b16", 2, 'b')                                                                          \
    X(B32, "b32", 4, 'b')                                                                          \
    X(B64, "b64", 8, 'b')                                                                          \
    X(B128, "b128", 16, 'b')                                                                       \
    X(F16, "f16", 2, 'f')                                                                          \
    X(F16X2, "f16x2", 4, 'f')                                                                      \
    X(BF16, "bf16", 2, 'f')                                                                        \
    X(BF16X2, "bf16x2", 4, 'f')                                                                    \
    X(TF32, "tf32", 4, 'f')                                                                        \
    X(F32, "f32", 4, 'f')                                                                          \
    X(F64, "f64", 8, 'f')                                                                          \
    X(F32X2, "f32x2", 8, 'f')                                                                      \
    X(U16X2, "u16x2", 4, 'u')                                                                      \
    X(S16X2, "s16x2", 4, 's')                                                                      \
    PTX_SMALL_TYPES(X)                                                                             \
    X(PRED, "pred", 1, 'p')

/* Modifiers whose C name is their text. */
#define PTX_PLAIN_MODS(X)                                                                            \
    X(abs)                                                                                           \
    X(acq_rel)                                                                                       \
    X(acquire)                                                                                       \
    X(add)                                                                                           \
    X(address_size)                                                                                  \
    X(align)                                                                                         \
    X(all)                                                                                           \
    X(and)                                                                                           \
    X(any)                                                                                           \
    X(approx) X(aligned) X(arrive) X(b4e) X(ballot) X(bfly) X(branchtargets) X(ca) X(                \
        calltargets) X(callprototype) X(cas) X(cc) X(cg) X(clamp) X(clock) X(cluster) X(col)         \
        X(commit) X(common) X(conv) X(cs) X(cta) X(cv) X(dec) X(down) X(ecl) X(ecr) X(entry) X(      \
            eq) X(equ) X(evict_first) X(evict_last) X(evict_normal) X(exch) X(exit) X(extern)        \
            X(f4e) X(file) X(finite) X(ftz) X(full) X(func) X(ge) X(generic) X(geu) X(gl) X(         \
                gpu) X(gt) X(gtu) X(hi) X(hs) X(idx) X(inc) X(infinite) X(l)                         \
                X(le) X(leu) X(lo) X(loc) X(local) X(ls) X(lt) X(ltu) X(lu) X(m8n8) X(               \
                    max) X(maxnctapersm) X(maxnreg) X(maxntid) X(min) X(minnctapersm) X(mmio) X(NaN) \
                    X(nan) X(nc) X(ne) X(neu) X(no_allocate) X(noftz) X(                             \
                        noinc) X(noreturn) X(normal) X(notanumber) X(num) X(number) X(or)            \
                        X(param) X(popc) X(pragma) X(ptr) X(r) X(rc16) X(rc8) X(red) X(reg) X(       \
                            relaxed) X(release) X(relu) X(reqntid) X(rm) X(rmi) X(rn) X(rna)         \
                            X(rni) X(row) X(                                                         \
                                rp) X(rpi) X(rz) X(rzi) X(sat) X(satfinite) X(sc) X(section)         \
                                X(seq_cst) X(shared) X(shiftamt) X(shr15) X(shr7) X(sreg) X(         \
                                    subnormal) X(sync) X(sys) X(target)                              \
                                    X(to) X(trans) X(                                                \
                                        uni) X(up) X(v2) X(v4) X(v8) X(version)                      \
                                        X(visible) X(volatile) X(wait) X(warp) X(weak) X(wide) X(    \
                                            wb) X(wrap) X(wt) X(x1)                                  \
                                            X(x2) X(                                                 \
                                                x4) X(xor) X(group)                                  \
                                                X(wait_group) X(wait_all) X(commit_group) X(         \
                                                    async) X(init) X(inval) X(arrive_drop)           \
                                                    X(test_wait) X(try_wait) X(pending_count) X(     \
                                                        parity) X(expect_tx) X(po)                   \
                                                        X(reqnctapercluster) X(explicitcluster) X(   \
                                                            maxclusterrank) X(texref)                \
                                                            X(samplerref) X(surfref) X(              \
                                                                attribute) X(alias) X(m16n8k4)       \
                                                                X(m16n8k8) X(m16n8k16) X(m16n8k32)   \
                                                                    X(m8n8k4) X(m8n8k16) X(L1) X(    \
                                                                        L2) X(isspacep)              \
                                                                        X(b4x16_p64) X(s) X(         \
                                                                            noreturn_) X(unified)    \
                                                                            X(total) X(fill) X(as)   \
                                                                                X(address) X(        \
                                                                                    language)        \
                                                                                    X(abi_preserve)

/* Modifiers of textures and surfaces. */
#define PTX_TEXTURE_MODS(X)                                                                        \
    X(a1d) X(a2d) X(a2dms) X(acube) X(addr_mode_0) X(addr_mode_1) X(addr_mode_2) X(array_size)             \
    X(base) X(channel_data_type) X(channel_order) X(cube) X(depth) X(filter_mode)                  \
    X(force_unnormalized_coords) X(g) X(grad) X(height) X(level) X(memory_layout)                  \
    X(normalized_coords) X(num_mipmap_levels) X(num_samples) X(p) X(tex) X(trap) X(width) X(zero)

/* Modifiers that are not C words: name, text. */
#define PTX_ODD_MODS(X)                                                                            \
    X(geom_1d, "1d")                                                                               \
    X(geom_2d, "2d")                                                                               \
    X(geom_2dms, "2dms")                                                                           \
    X(geom_3d, "3d")                                                                               \
    X(const, "const")                                                                              \
    X(global, "global")                                                                            \
    X(mod_24, "24")                                                                                \
    X(shared_cta, "shared::cta")                                                                   \
    X(shared_cluster, "shared::cluster")                                                           \
    X(param_entry, "param::entry")                                                                 \
    X(param_func, "param::func")                                                                   \
    X(l1_evict_normal, "L1::evict_normal")                                                         \
    X(l1_evict_unchanged, "L1::evict_unchanged")                                                   \
    X(l1_evict_first, "L1::evict_first")                                                           \
    X(l1_evict_last, "L1::evict_last")                                                             \
    X(l1_no_allocate, "L1::no_allocate")                                                           \
    X(l2_cache_hint, "L2::cache_hint")                                                             \
    X(l2_evict_last, "L2::evict_last")                                                             \
    X(l2_evict_normal, "L2::evict_normal")                                                         \
    X(l2_evict_first, "L2::evict_first")                                                           \
    X(l2_64b, "L2::64B")                                                                           \
    X(l2_128b, "L2::128B")                                                                         \
    X(l2_256b, "L2::256B")                                                                         \
    X(proxy_alias, "proxy.alias")

/* More words of the instruction set: name, text. */
#define PTX_ISA_MODS(X)                                                                            \
    X(noComplete, "noComplete")                                                                    \
    X(complete_tx, "complete_tx")                                                                  \
    X(xorsign, "xorsign")                                                                          \
    X(oob, "oob")                                                                                  \
    X(ld_reduce, "ld_reduce")                                                                      \
    X(acc_f16, "acc::f16")                                                                         \
    X(acc_f32, "acc::f32")                                                                         \
    X(st, "st")                                                                                    \
    X(try_cancel, "try_cancel")                                                                    \
    X(query_cancel, "query_cancel")                                                                \
    X(is_canceled, "is_canceled")                                                                  \
    X(first_ctaid, "get_first_ctaid")                                                              \
    X(first_ctaid_x, "get_first_ctaid::x")                                                         \
    X(first_ctaid_y, "get_first_ctaid::y")                                                         \
    X(first_ctaid_z, "get_first_ctaid::z")                                                         \
    X(multicast_all, "multicast::cluster::all")                                                    \
    X(cp_mask, "cp_mask")                                                                          \
    X(bulk, "bulk")                                                                                \
    X(read, "read")                                                                                \
    X(proxy, "proxy")                                                                              \
    X(prefetch, "prefetch")                                                                        \
    X(abi_preserve_control, "abi_preserve_control")                                                \
    X(mask, "mask")                                                                                \
    X(cvt, "cvt")                                                                                  \
    X(tensormap_generic, "tensormap::generic")                                                     \
    X(mbarrier, "mbarrier")                                                                        \
    X(launch_dependents, "launch_dependents")                                                      \
    X(m8n8k32, "m8n8k32")                                                                          \
    X(m8n8k128, "m8n8k128")                                                                        \
    X(m16n8k64, "m16n8k64")                                                                        \
    X(m16n8k128, "m16n8k128")                                                                      \
    X(m16n8k256, "m16n8k256")                                                                      \
    X(m16n16k16, "m16n16k16")                                                                      \
    X(m8n32k16, "m8n32k16")                                                                        \
    X(m32n8k16, "m32n8k16")                                                                        \
    X(m16n16k8, "m16n16k8")                                                                        \
    X(m16n8, "m16n8")                                                                              \
    X(m16n16, "m16n16")                                                                            \
    X(m8n16, "m8n16")                                                                              \
    X(e2m1, "e2m1")                                                                                \
    X(e2m3, "e2m3")                                                                                \
    X(e3m2, "e3m2")                                                                                \
    X(ue8m0, "ue8m0")                                                                              \
    X(ue4m3, "ue4m3")                                                                              \
    X(b8x16, "b8x16")                                                                              \
    X(b6x16_p32, "b6x16_p32")                                                                      \
    X(load, "load")                                                                                \
    X(store, "store")                                                                              \
    X(mma, "mma")                                                                                  \
    X(a, "a")                                                                                      \
    X(b, "b")                                                                                      \
    X(c, "c")                                                                                      \
    X(d, "d")                                                                                      \
    X(sp_ordered, "sp::ordered_metadata")                                                          \
    X(sp, "sp")                                                                                    \
    X(pack, "pack")                                                                                \
    X(fractional, "fractional")                                                                    \
    X(range, "range")                                                                              \
    X(bulk_group, "bulk_group")                                                                    \
    X(mbarrier_init, "mbarrier_init")                                                              \
    X(blocksareclusters, "blocksareclusters")                                                      \
    X(reduce, "reduce")                                                                            \
    X(mbarrier_complete, "mbarrier::complete_tx::bytes")                                           \
    X(multicast_cluster, "multicast::cluster")                                                     \
    X(sync_cta, "sync_restrict::shared::cta")                                                      \
    X(sync_cluster, "sync_restrict::shared::cluster")                                              \
    X(async_generic, "async::generic")                                                             \
    X(l2_evict_unchanged, "L2::evict_unchanged")                                                   \
    X(mma_async, "mma_async")                                                                      \
    X(fence, "fence")                                                                              \
    X(geom_4d, "4d")                                                                               \
    X(geom_5d, "5d")                                                                               \
    X(tensor, "tensor")                                                                            \
    X(tile, "tile")                                                                                \
    X(tile_gather4, "tile::gather4")                                                               \
    X(tile_scatter4, "tile::scatter4")                                                             \
    X(im2col, "im2col")                                                                            \
    X(im2col_w, "im2col::w")                                                                       \
    X(im2col_w_128, "im2col::w::128")                                                              \
    X(im2col_no_offs, "im2col_no_offs")                                                            \
    X(cta_group_1, "cta_group::1")                                                                 \
    X(cta_group_2, "cta_group::2")                                                                 \
    X(replace, "replace")                                                                          \
    X(cp_fenceproxy, "cp_fenceproxy")                                                              \
    X(global_address, "global_address")                                                            \
    X(rank, "rank")                                                                                \
    X(box_dim, "box_dim")                                                                          \
    X(global_dim, "global_dim")                                                                    \
    X(global_stride, "global_stride")                                                              \
    X(element_stride, "element_stride")                                                            \
    X(elemtype, "elemtype")                                                                        \
    X(interleave_layout, "interleave_layout")                                                      \
    X(swizzle_mode, "swizzle_mode")                                                                \
    X(swizzle_atomicity, "swizzle_atomicity")                                                      \
    X(fill_mode, "fill_mode")                                                                      \
    X(b1024, "b1024")                                                                              \
    X(rs, "rs")                                                                                    \
    X(e4m3x4, "e4m3x4")                                                                            \
    X(e5m2x4, "e5m2x4")                                                                            \
    X(e2m3x4, "e2m3x4")                                                                            \
    X(e3m2x4, "e3m2x4")                                                                            \
    X(e2m1x4, "e2m1x4")                                                                            \
    X(alloc, "alloc")                                                                              \
    X(dealloc, "dealloc")                                                                          \
    X(relinquish, "relinquish_alloc_permit")                                                       \
    X(ld, "ld")                                                                                    \
    X(wait_ld, "wait::ld")                                                                         \
    X(wait_st, "wait::st")                                                                         \
    X(before_sync, "fence::before_thread_sync")                                                    \
    X(after_sync, "fence::after_thread_sync")                                                      \
    X(shift, "shift")                                                                              \
    X(cp, "cp")                                                                                    \
    X(ws, "ws")                                                                                    \
    X(shape_16x64b, "16x64b")                                                                      \
    X(shape_16x128b, "16x128b")                                                                    \
    X(shape_16x256b, "16x256b")                                                                    \
    X(shape_32x32b, "32x32b")                                                                      \
    X(shape_16x32bx2, "16x32bx2")                                                                  \
    X(x8, "x8")                                                                                    \
    X(x16, "x16")                                                                                  \
    X(x32, "x32")                                                                                  \
    X(x64, "x64")                                                                                  \
    X(x128, "x128")                                                                                \
    X(pack_16b, "pack::16b")                                                                       \
    X(unpack_16b, "unpack::16b")                                                                   \
    X(arrive_one, "mbarrier::arrive::one")                                                         \
    X(kind_f16, "kind::f16")                                                                       \
    X(kind_tf32, "kind::tf32")                                                                     \
    X(kind_f8f6f4, "kind::f8f6f4")                                                                 \
    X(kind_i8, "kind::i8")                                                                         \
    X(kind_mxf8f6f4, "kind::mxf8f6f4")                                                             \
    X(kind_mxf4, "kind::mxf4")                                                                     \
    X(kind_mxf4nvf4, "kind::mxf4nvf4")                                                             \
    X(block_scale, "block_scale")                                                                  \
    X(scale_vec_1x, "scale_vec::1X")                                                               \
    X(scale_vec_2x, "scale_vec::2X")                                                               \
    X(scale_vec_4x, "scale_vec::4X")                                                               \
    X(block16, "block16")                                                                          \
    X(block32, "block32")                                                                          \
    X(shape_128x256b, "128x256b")                                                                  \
    X(shape_128x128b, "128x128b")                                                                  \
    X(shape_64x128b, "64x128b")                                                                    \
    X(shape_32x128b, "32x128b")                                                                    \
    X(warpx2_02_13, "warpx2::02_13")                                                               \
    X(warpx2_01_23, "warpx2::01_23")                                                               \
    X(warpx4, "warpx4")

enum ptx_modifier {
#define X(id, text, size, kind) PTX_##id,
    PTX_TYPES(X)
#undef X
        PTX_TYPE_COUNT,
    PTX_MOD_FIRST = PTX_TYPE_COUNT,
#define X(id) MOD_##id,
    PTX_PLAIN_MODS(X)
    PTX_TEXTURE_MODS(X)
#undef X
#define X(id, text) MOD_##id,
        PTX_ODD_MODS(X) PTX_ISA_MODS(X)
#undef X
            MOD_COUNT,
    MOD_UNKNOWN = MOD_COUNT,
};

typedef uint8_t ptx_type;

/* Text without the dot; MOD_UNKNOWN when the engine has no use for such a word. Any thread. */
enum ptx_modifier ptx_modifier_find(const char *text, size_t size);
const char *ptx_modifier_name(enum ptx_modifier mod);

/* Bytes in memory, 0 for .pred. */
unsigned ptx_type_size(ptx_type type);
/* 'b', 'u', 's', 'f' or 'p' as in PTX_TYPES. */
char ptx_type_class(ptx_type type);

#endif
