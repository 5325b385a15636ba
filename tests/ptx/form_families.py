# SPDX-License-Identifier: Apache-2.0
"""The instructions of forms.py: for each opcode words that may stand in each place, a "-" for none, and operands.

Types in words: I, B, F, T stand for integers, bits, floats, all. Operands are separated by spaces:
  0 1 2     a source of the type of that number among the words; D0, D1: a destination; w0: twice as wide
  u s b q   a register of u32, s32, b32, u64;  h 16 bits, Q 128 bits, f f32, g f64
  p P       a predicate as source, as destination
  i         an integer literal; Nn: the literal n
  a         an address in the space that the words name; aS: one in space S
  {..}      a vector of such;  x|y a pair;  others stand for themselves"""

HEAD = """
.global .align 16 .b32 gv[64];
.const .align 16 .b32 cv[64];
.shared .align 16 .b8 sv[1024];
.global .align 4 .f32 gf;
.global .texref tv;
.global .surfref uv;
.func (.reg .b32 ro) fn(.reg .b32 ri) { ret; }
.entry k(.param .u64 pq, .param .u32 pr, .param .align 16 .b8 pb[64])
{
.reg .pred p0,p1,p2,p3; .reg .b16 h0,h1,h2,h3; .reg .u16 hu0,hu1; .reg .s16 hs0,hs1; .reg .b32 r0,r1,r2,r3,r4,r5,r6,r7;
.reg .u32 ru0,ru1,ru2; .reg .s32 rs0,rs1,rs2; .reg .f32 f0,f1,f2,f3; .reg .b64 d0,d1,d2,d3; .reg .u64 du0,du1; .reg .s64 ds0,ds1; .reg .f64 g0,g1,g2;
.reg .v4 .b32 v4r; .reg .v2 .b32 v2r; .reg .v4 .f32 v4f;
.local .align 16 .b8 lv[64];
.reg .b8 c0,c1;
L1:
"""
OLD_HEAD = HEAD.replace(".global .texref tv;\n.global .surfref uv;\n", "").replace(
    ".func (.reg .b32 ro) fn(.reg .b32 ri) { ret; }\n", "").replace(
    ".entry k(.param .u64 pq, .param .u32 pr, .param .align 16 .b8 pb[64])\n{\n", ".entry k\n{\n")

LISTS = {
    "I": "u16 u32 u64 s16 s32 s64", "B": "b16 b32 b64", "F": "f32 f64 f16 bf16 f16x2 bf16x2",
    "T": "u32 s32 b32 f32 u64 s64 b64 f64 u16 s16 b16 f16 f16x2 bf16 bf16x2 u8 s8 b8 pred b128 tf32 f32x2 u16x2 s16x2",
    "A": "u32 s32 b32 f32 u64 s64 b64 f64 u16 s16 b16 f16 f16x2 bf16 bf16x2 u8 s8 b8",
}
ROUND = "rn rz rm rp - - -"
SPACES = "global shared const local param shared::cta shared::cluster - -"
SCOPES = "cta gpu sys cluster -"
CMP = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"
EVICT = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate - - - - -"
L2 = "L2::64B L2::128B L2::256B L2::cache_hint - - - - - -"
GEOM = "1d 2d 3d a1d a2d cube acube 2dms a2dms"

FAMILIES = []


def family(opcode, slots, *operands):
    FAMILIES.append((opcode, [" ".join(LISTS.get(w, w) for w in slot.split()).split() for slot in slots], operands))


def three(*opcodes):
    for opcode in opcodes:
        family(opcode, ["cc - - -", "lo hi wide - -", ROUND, "ftz - -", "sat - -", "T"], "D0 0 0", "Dw0 0 0")
        family(opcode, [ROUND, "ftz - -", "sat - -", "F"], "D0 0 0")


def build():
    for opcode in "add", "sub":
        family(opcode, ["sat - -", "cc - - -", "T"], "D0 0 0", "D0 0 i")
        family(opcode, [ROUND, "ftz - -", "sat - -", "F"], "D0 0 0")
        family(opcode, [ROUND, "sat - -", "f32", "f16 bf16"], "D0 1 0")
        family(opcode + "c", ["cc - -", "sat - - -", "T"], "D0 0 0", "D0 0 i")
    family("mul", ["lo hi wide - ", "T"], "D0 0 0", "w0 0 0")
    family("mul", ["wide", "T"], "w0 0 0")
    family("mul", [ROUND, "ftz - -", "sat - -", "F"], "D0 0 0")
    family("mad", ["lo hi wide - ", "cc - -", "sat - -", "T"], "D0 0 0 0", "w0 0 0 w0")
    family("mad", ["wide", "T"], "w0 0 0 w0")
    family("mad", [ROUND, "ftz - -", "sat - -", "F"], "D0 0 0 0")
    family("madc", ["lo hi wide -", "cc - -", "T"], "D0 0 0 0")
    for opcode, n in ("mul24", 2), ("mad24", 3):
        family(opcode, ["lo hi wide -", "sat - -", "T"], "D0" + " 0" * n)
    family("fma", [ROUND, "ftz - -", "sat relu - -", "oob - - -", "F f32x2"], "D0 0 0 0")
    family("fma", [ROUND, "sat - -", "f32", "f16 bf16"], "D0 1 1 0")
    family("div", ["approx full - " + ROUND, "ftz - -", "T"], "D0 0 0")
    family("rem", ["T"], "D0 0 0")
    for opcode in "abs", "neg":
        family(opcode, ["ftz - -", "T"], "D0 0")
    for opcode in "min", "max":
        family(opcode, ["ftz - -", "NaN - -", "xorsign - -", "abs - -", "relu - - -", "T"], "D0 0 0", "D0 0 0 0")
        family(opcode, ["ftz - -", "NaN - -", "xorsign.abs - -", "F"], "D0 0 0", "D0 0 0 0")
    family("sad", ["T"], "D0 0 0 0")
    for opcode in "rcp", "sqrt":
        family(opcode, ["approx - " + ROUND, "ftz - -", "T"], "D0 0")
    for opcode in "rsqrt", "sin", "cos", "lg2", "ex2", "tanh":
        family(opcode, ["approx approx - rn", "ftz - -", "T F"], "D0 0")
    family("copysign", ["T F"], "D0 0 0")
    family("testp", ["finite infinite number notanumber normal subnormal -", "T F"], "P 0")
    family("setp", [CMP, "and or xor - - - -", "ftz - -", "T"], "P 0 0", "P|P 0 0", "P 0 0 p", "P|P 0 0 p", "P 0 0 !p")
    family("set", [CMP, "and or xor - - - -", "ftz - -", "u32 s32 f32 u16 s16 f16 f16x2 bf16 bf16x2 T", "T"], "D0 1 1", "D0 1 1 p", "D0 1 1 !p")
    for opcode in "and", "or", "xor":
        family(opcode, ["T B pred"], "D0 0 0", "D0 0 i")
    for opcode in "not", "cnot":
        family(opcode, ["T B pred"], "D0 0")
    for opcode in "shl", "shr":
        family(opcode, ["T"], "D0 0 u", "D0 0 i")
    family("shf", ["l r -", "clamp wrap -", "b32 b32 b32 u32 b64"], "D0 0 0 u", "D0 0 0 i")
    family("lop3", ["or and - - -", "b32 b32 b32 u32 b64"], "D0 0 0 0 N85", "D0 0 0 0 N256", "D0|P 0 0 0 N85 p", "D0 0 0 0 0")
    family("prmt", ["b32 b32 u32 b64", "f4e b4e rc8 ecl ecr rc16 - -"], "D0 0 0 0", "D0 0 0 i")
    family("bfe", ["I T"], "D0 0 u u", "D0 0 i i")
    family("bfi", ["B T"], "D0 0 0 u u", "D0 0 0 i i")
    family("bfind", ["shiftamt - -", "I T"], "u 0")
    for opcode in "brev", "clz", "popc":
        family(opcode, ["B T"], "D0 0", "u 0")
    for opcode in "bmsk", "szext":
        family(opcode, ["clamp wrap -", "b32 u32 s32 b64"], "D0 0 u")
    family("fns", ["b32 b32 u32 b64"], "D0 0 0 s")
    family("dp4a", ["u32 s32 b32", "u32 s32 b32"], "D0 0 1 0")
    family("dp2a", ["lo hi -", "u32 s32 b32", "u32 s32 b32"], "D0 0 1 0")
    family("selp", ["T"], "D0 0 0 p", "D0 i 0 p")
    family("slct", ["ftz - -", "T", "s32 f32 f32 T"], "D0 0 0 1")
    family("cvt", ["rni rzi rmi rpi rn rz rm rp rna - -", "ftz - -", "sat satfinite relu - -", "T", "T"], "D0 1", "D0 1")
    family("cvt", ["rn rz rna rs -", "satfinite relu - -", "relu - - -", "ftz - - -", "sat - - - - -", "tf32 f16x2 bf16x2 f16 bf16", "f32 f64"], "D0 1", "D0 1 1")
    family("cvt", ["rn rz rp -", "satfinite -", "relu - -", "e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2", "f32 f16x2 bf16x2"], "h 1 1", "h 1")
    family("cvt", ["rn -", "satfinite - -", "relu - -", "f16x2 bf16x2", "e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2"], "D0 h")
    family("cvt", ["pack", "sat -", "u16 s16 u8 s8 u4 s4 u2 s2 u32", "s32 u32", "b32 - - u32"], "b s s", "b s s b")
    family("mov", ["v2 v4 - - - - - - -", "T"], "D0 0", "D0 i", "D0 gv", "D0 sv", "D0 fn", "D0 %tid.x", "D0 %clock64", "{h h} 0", "D0 {h h}", "{b b} 0",
           "D0 {b b}", "D0 {b b b b}", "Q {q q}", "{q q} Q", "v4r %tid", "v4r v4r", "v4r.x v4r.y", "D0 pq", "D0 lv", "D0 gv+4", "D0 cv", "v2r v2r", "{_ b} 0")
    for opcode in "ld", "st":
        operands = ("D0 a", "V a", "D0 [pq]") if opcode == "ld" else ("a 0", "a V", "a i")
        family(opcode, ["weak volatile relaxed acquire release mmio - - - - - -", SCOPES + " - - - - -", SPACES, "ca cg cs lu cv wb wt - - - - - -", "v2 v4 v8 - - - - - -", "T"], *operands)
        family(opcode, [SPACES, "ca cg cs lu cv wb wt nc - - - - - -", EVICT, L2, "v2 v4 v8 - - - - - -", "A"], *(operands + tuple(o + " q" for o in operands)))
        family(opcode, ["relaxed acquire release", SCOPES, SPACES, EVICT, L2, "v2 v4 - - - - - -", "A"], *operands)
        family(opcode, [SPACES, "v2 v4 v8 - - -", "A b128"], *operands)
    family("ldu", ["global shared const -", "v2 v4 - - -", "T"], "D0 a", "V a")
    family("cvta", ["to - -", SPACES + " global shared const", "u64 u64 u64 u32 b64 s64"], "q q", "D0 0", "D0 sv", "D0 gv")
    family("isspacep", ["global shared const local param shared::cta shared::cluster param::entry param::func -"], "P q", "P u")
    for opcode in "atom", "red":
        r = "D0 " if opcode == "atom" else ""
        ops = "add min max and or xor inc dec exch cas"
        family(opcode, ["relaxed acquire release acq_rel volatile weak - - - -", SCOPES + " - -", "global shared local param const shared::cta shared::cluster - - global shared", ops, "noftz - - -", "A b128"],
               r + "a 0", r + "a 0 0", "_ a 0", r + "a i")
        family(opcode, ["global shared -", ops, "A"], r + "a 0", r + "a 0 0")
        family(opcode, ["global shared - -", "add min max and exch", "noftz - ", "L2::cache_hint - -", "v2 v4 v8 - -", "f32 f16 f16x2 bf16 bf16x2 b32"], "V a V" if r else "a V", r + "a 0", r + "a 0 q")
    family("membar", ["cta gl sys gpu cluster - proxy", "alias - - - "], "")
    family("fence", ["sc acq_rel acquire release relaxed -", SCOPES], "")
    family("fence", ["proxy", "alias async async.global async.shared::cta async.shared::cluster tensormap::generic -", "release acquire - -", SCOPES], "")
    family("fence", ["mbarrier_init -", "release acquire -", SCOPES], "")
    family("bar", ["sync arrive red warp.sync cta.sync -", "popc and or - -", "u32 pred - - -"], "N1", "u", "N1 N64", "N1 u", "u u", "P N1 p", "u N1 p", "P N1 N64 p", "u N1 u !p", "N16", "N1 N63", "b", "")
    family("barrier", ["cta cluster - -", "sync arrive red wait -", "popc and or - -", "release relaxed acquire - - - ", "aligned - -", "u32 pred - - -"], "N1", "u", "N1 N64", "u u", "P N1 p", "u N1 p", "P N1 N64 p", "")
    family("bra", ["uni - -"], "L1", "u", "fn")
    family("ret", ["uni - -"], "", "u")
    family("exit", ["uni - - -"], "", "u")
    family("trap", ["uni - - -"], "")
    family("brkpt", ["uni - - -"], "")
    family("call", ["uni - -"], "(b) fn (b)", "(b) fn (i)", "fn", "fn (b)", "(b) fn", "(f) fn (f)", "(b) fn (h)", "(q) fn (b)", "(b) fn (b b)")
    family("shfl", ["sync - -", "up down bfly idx -", "b32 b32 u32 f32 b64 pred"], "b b u u", "b|P b u u", "b b u u b", "b|P b i i b", "b b i i N-1")
    family("vote", ["sync - -", "all any uni ballot -", "pred b32 u32"], "P p", "b p", "P p b", "b p b", "b !p b")
    family("match", ["any all -", "sync -", "b32 b64 u32 f32"], "b 0 b", "b|P 0 b", "b 0 i")
    family("redux", ["sync -", "add min max and or xor", "abs - - -", "NaN - - -", "u32 s32 b32 f32 b64 u64"], "D0 0 b", "D0 0 i")
    family("activemask", ["b32 b32 u32 -"], "b", "q")
    family("elect", ["sync -"], "b|P b", "b b", "_|P b", "b|P i")
    family("prefetch", ["global local shared const param - tensormap", "L1 L2 -", "L2::evict_last L2::evict_normal - - L1::evict_last"], "a", "a")
    family("prefetchu", ["L1 L2 -"], "[d0]", "[gv]")
    family("applypriority", ["global - shared", "L2::evict_normal L2::evict_last -"], "a N128", "a N64", "a u")
    family("discard", ["global - shared", "L2 L1 -"], "a N128", "a N64")
    family("createpolicy", ["fractional range cvt -", "global - -", "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged L2 -", "L2::evict_unchanged L2::evict_first - - -", "b64 u64 b32"],
           "q", "q f", "q N1", "q a u u", "q b")
    family("isspacep", ["global"], "P q")
    family("pmevent", ["mask - - -"], "N1", "N16", "u")
    family("nanosleep", ["u32 u32 b32 u64 -"], "u", "i")
    family("griddepcontrol", ["launch_dependents wait -"], "", "u")
    family("setmaxnreg", ["inc dec -", "sync -", "aligned -", "u32 u32 b32"], "N64", "N20", "u")
    family("alloca", ["u32 u64 b32 b64"], "D0 0", "D0 0 N16", "D0 i")
    family("stacksave", ["u32 u64 b32"], "D0")
    family("stackrestore", ["u32 u64 b32"], "0")
    family("mapa", ["shared::cluster - shared", "u32 u64 b32"], "D0 0 u", "D0 sv u", "D0 0 i")
    family("getctarank", ["shared::cluster - shared", "u32 u64 b32"], "u 0", "D0 0")
    family("mbarrier", ["init inval arrive arrive_drop test_wait try_wait expect_tx complete_tx pending_count", "expect_tx noComplete parity - - - -", "acquire release relaxed - - - -", "cta cluster - - -",
                        "shared shared::cta shared::cluster - - global", "b64 b64 b64 u64 -"], "a u", "a", "q a", "q a u", "_ a", "_ a u", "P a q", "P a u", "P a u u", "u q", "P a q u", "a i")
    family("cp", ["async", "ca cg -", "shared shared::cta", "global", L2, "-"], "[d0] [d1] N16", "[d0] [d1] N4", "[d0] [d1] N8", "[d0] [d1] N16 u", "[d0] [d1] N16 p", "[d0] [d1] N16 q", "[sv] [gv] N16", "[d0] [d1] N2")
    family("cp", ["async", "commit_group wait_group wait_all mbarrier.arrive mbarrier.arrive.noinc", "shared b64 shared::cta.b64 shared.b64 - -"], "", "N1", "a", "u")
    family("cp", ["async", "bulk", "shared::cluster shared::cta global", "global shared::cta -", "mbarrier::complete_tx::bytes bulk_group -", "multicast::cluster - -", "L2::cache_hint - - -"],
           "[d0] [d1] u [d2]", "[d0] [d1] N16 [d2]", "[d0] [d1] u [d2] h", "[d0] [d1] u", "[d0] [d1] u q", "[d0] [d1] u [d2] q")
    family("cp", ["async", "bulk", "commit_group wait_group wait_group.read prefetch.L2.global"], "", "N1", "[d0] u", "u")
    family("cp", ["reduce", "async", "bulk", "global shared::cluster", "shared::cta", "bulk_group mbarrier::complete_tx::bytes", "add min max and or xor inc dec", "noftz - - - -", "A"], "[d0] [d1] u", "[d0] [d1] u [d2]")
    family("ldmatrix", ["sync -", "aligned -", "m8n8 m16n16 m8n16", "x1 x2 x4", "trans - -", "shared shared::cta - global", "b16 b8 b8x16.b6x16_p32 b8x16.b4x16_p64"], "{b} a", "{b b} a", "{b b b b} a", "b a")
    family("stmatrix", ["sync -", "aligned -", "m8n8 m16n8", "x1 x2 x4", "trans - -", "shared shared::cta - global", "b16 b8"], "a {b}", "a {b b}", "a {b b b b}")
    family("movmatrix", ["sync -", "aligned -", "m8n8", "trans -", "b16 b8"], "b b")
    for shape, kinds in (("m8n8k4", "f16 f64"), ("m16n8k8", "f16 bf16 tf32"), ("m16n8k4", "tf32 f64"), ("m16n8k16", "f16 bf16 u8 s8 f64 e4m3"), ("m8n8k16", "u8 s8"), ("m16n8k32", "u8 s8 u4 s4 e4m3 e5m2"),
                         ("m8n8k32", "u4 s4"), ("m16n8k64", "u4 s4"), ("m16n8k256", "b1"), ("m8n8k128", "b1"), ("m16n8k128", "b1")):
        family("mma", ["sync -", "aligned -", shape, "row col", "col row", "satfinite - -", "f32 f16 s32 f64", kinds, kinds, "f32 f16 s32 f64", "xor.popc and.popc - - -" if "b1" in kinds else "- -"],
               "{f f f f} {b b b b} {b b} {f f f f}", "{b b} {b b} {b} {b b}", "{b b b b} {b b} {b} {b b b b}", "{b b} {b} {b} {b b}", "{f f f f} {b b} {b} {f f f f}", "{b b b b} {b b b b} {b b} {b b b b}",
               "{g g} {g} {g} {g g}", "{b b} {b b b b} {b b} {b b}", "{g g g g} {g g} {g} {g g g g}")
    family("wmma", ["load", "a b c d", "sync -", "aligned -", "row col", "m16n16k16 m8n32k16 m32n8k16 m8n8k32 m16n16k8", "global shared - const", "f16 f32 u8 s8 bf16 tf32 u4 s4 s32 f64"],
           "{b b b b b b b b} a", "{b b b b b b b b} a u", "{b b} a u", "{b b b b} a u", "{b} a u", "{f f f f f f f f} a u")
    family("wmma", ["store", "d", "sync -", "aligned -", "row col", "m16n16k16 m8n32k16 m32n8k16 m8n8k32", "global shared - const", "f16 f32 s32 f64"], "a {b b b b}", "a {b b b b b b b b} u", "a {f f f f f f f f} u")
    family("tex", ["base level grad - - - -", GEOM, "v4 v4 v4 v2 -", "u32 s32 f32 f16x2 f16", "s32 f32 f32"], "{0 0 0 0} [tv_{1}]", "{0 0 0 0} [tv_{1_1}]", "{0 0 0 0} [tv_{1_1_1_1}]", "{0 0 0 0} [tv_uv_{1_1}]", "{0 0 0 0} [d0_{1_1}]",
           "{0 0 0 0} [tv_1]", "{0 0 0 0} [tv_{1_1}] f", "{0 0 0 0} [tv_{1_1}] {f f} {f f}", "{0 0 0 0} [tv_{u_1_1_1}]", "{0 0 0 0}|P [tv_{1_1}]", "{0 0 0 0} [tv_{1_1_1}]", "{0 0 0 0} [tv_{u_1}]")
    family("tld4", ["r g b a -", "2d a2d cube acube 1d", "v4 -", "u32 s32 f32", "f32 s32"], "{0 0 0 0} [tv_{1_1}]", "{0 0 0 0} [tv_{u_1_1_1}]", "{0 0 0 0} [tv_uv_{1_1}]", "{0 0 0 0} [tv_{1_1_1_1}]", "{0 0 0 0}|P [tv_{1_1}]")
    family("txq", ["level - - -", "width height depth channel_data_type channel_order normalized_coords array_size num_mipmap_levels num_samples filter_mode addr_mode_0 force_unnormalized_coords memory_layout", "b32 b32 u32"],
           "b [tv]", "b [d0]", "b [uv]", "b [tv] u")
    family("suq", ["width height depth channel_data_type channel_order array_size memory_layout num_samples", "b32 b32 u32"], "b [uv]", "b [tv]", "b [d0]")
    family("suld", ["b p -", GEOM, "ca cg cs cv - -", "v2 v4 - -", "b8 b16 b32 b64 u32 f32", "trap clamp zero -"], "D0 [uv_{s}]", "{0 0} [uv_{s_s}]", "D0 [uv_{s_s}]", "{0 0 0 0} [uv_{s_s_s_s}]", "D0 [uv_{u_s}]", "D0 [d0_{s_s}]")
    family("sust", ["b p -", GEOM, "wb cg cs wt - -", "v2 v4 - -", "b8 b16 b32 b64 u32 f32", "trap clamp zero -"], "[uv_{s}] 0", "[uv_{s_s}] {0 0}", "[uv_{s_s}] 0", "[uv_{s_s_s_s}] {0 0 0 0}", "[uv_{u_s}] 0", "[d0_{s_s}] 0")
    family("sured", ["b p -", "1d 2d 3d a1d", "add min max and or xor", "u32 s32 b32 u64 s64 b64", "trap clamp zero -"], "[uv_{s}] 0", "[uv_{s_s}] 0", "[uv_{s_s_s_s}] 0")
    family("istypep", ["texref samplerref surfref -"], "P q", "P tv")
    words = "u32 s32 u32 s32 u16 b32"
    for opcode in "vadd", "vsub", "vabsdiff", "vmin", "vmax":
        family(opcode, [words, words, words, "sat - -", "add min max - - -"], "b b b", "b b b b", "b r1.b0 r2.h1", "r0.b1 b b b", "b b r2.b5")
    for opcode in "vshl", "vshr":
        family(opcode, [words, words, "u32 s32", "sat - -", "clamp wrap -", "add min max - - -"], "b b b", "b b b b", "b r1.b0 r2.h1", "r0.b1 b b b")
    family("vset", [words, words, "eq ne lt le gt ge lo -", "add min max - - -"], "b b b", "b b b b", "b r1.b0 r2.h1", "r0.b1 b b b")
    family("vmad", [words, words, words, "po - -", "sat - -", "shr7 shr15 - -"], "b b b b", "b -r1 b b", "b b b -r3", "b r1.b0 r2.h1 b", "b -r1 b -r3")
    for n in "2", "4":
        sel = "r0.h0" if n == "2" else "r0.b0"
        for opcode in "vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax":
            family(opcode + n, [words, words, words, "sat - -", "add min - -"], "b b b b", sel + " b b b", "b b b", "b r1.h10 r2.h32 b", "b r1.b7654 r2.b3210 b")
        family("vset" + n, [words, words, "eq ne lt le gt ge -", "add - -"], "b b b b", sel + " b b b", "b b b")
    family("multimem", ["ld_reduce st red", "weak relaxed release - -", SCOPES, "global - -", "add min max and or xor - -", "acc::f32 - - -", "v2 v4 v8 - -", "f32 f16 f16x2 bf16 bf16x2 u32 s32 b32 u64 s64 b64 f64"], "D0 a", "V a", "a 0", "a V")
    family("st", ["async", "weak - -", "shared::cluster shared -", "mbarrier::complete_tx::bytes -", "v2 v4 - -", "b32 b64 u32 u64 s32 s64 f32 f64 b16"], "[d0] 0 [d1]", "[d0] V [d1]")
    family("red", ["async", "relaxed - -", "cluster - -", "shared::cluster shared -", "mbarrier::complete_tx::bytes -", "add min max and or xor inc dec", "u32 s32 b32 u64 s64 b64 f32"], "[d0] 0 [d1]")
    family("st", ["bulk", "weak - -", "shared::cta -"], "[d0] q 0", "[d0] q N0", "[d0] u N0", "[d0] N8 N0")


build()

REGISTERS = {1: ["c0", "c1"], 2: ["h0", "h1", "h2", "hu0", "hs0"], 4: ["r0", "r1", "r2", "r3"], 8: ["d0", "d1", "d2", "d3"], 0: ["p0", "p1", "p2"], 16: ["q_0", "q_1"]}
OF_CLASS = {"u2": "hu0 hu1", "s2": "hs0 hs1", "u4": "ru0 ru1 ru2", "s4": "rs0 rs1 rs2", "f4": "f0 f1 f2", "u8": "du0 du1", "s8": "ds0 ds1", "f8": "g0 g1 g2"}
SIZES = {"pred": 0, "b128": 16, "f16x2": 4, "bf16x2": 4, "tf32": 4, "f32x2": 8, "u16x2": 4, "s16x2": 4, "bf16": 2, "f16": 2}
ODD = ["i0", "7", "0f3f800000", "1.5", "p0", "h0", "r0", "d0", "f0", "g0", "c0", "_", "gv", "cv", "sv", "lv", "fn", "%tid.x", "%clock64", "%laneid", "{r0,r1}", "[d0]", "r0.b0", "v4r", "v4r.x", "v4f.w", "!p0",
       "-r1", "-1", "WARP_SZ", "pq", "gv+4", "0x1ffffffff", "rs0", "ru0", "hu0", "ds0", "du0", "%gridid", "nothing", "r1+4", "1U", "%is_explicit_cluster", "v2r"]


def size_of(name):
    if name in SIZES:
        return SIZES[name]
    digits = name[1:]
    return int(digits) // 8 if digits.isdigit() and int(digits) >= 8 else 4


def register(rng, size, kind=""):
    named = OF_CLASS.get("%s%d" % (kind, size)) if kind and rng.random() < 0.5 else None
    if size == 16:
        return "q0"
    return rng.choice(named.split() if named else REGISTERS.get(size, ["r0"]))


def typed(rng, name, wide=1):
    return register(rng, size_of(name) * wide, name[0])


def address(rng, space):
    named = {"global": "gv", "shared": "sv", "const": "cv", "local": "lv", "param": "pb"}.get(space.split(":")[0] if space else "", "gv")
    return rng.choice(["[d0]", "[d1+16]", "[%s]" % named, "[%s+16]" % named, "[d0]", "[d0]", "[r0]" if rng.random() < 0.2 else "[d0]", "[%s+d1]" % named if rng.random() < 0.1 else "[d0]",
                       "[64]" if rng.random() < 0.2 else "[d1]", "[sv]" if rng.random() < 0.2 else "[d0+-8]"])


def one(rng, word, types, words):
    kinds = {"u": ("u", 4), "s": ("s", 4), "b": ("b", 4), "q": ("u", 8), "h": ("b", 2), "f": ("f", 4), "g": ("f", 8), "p": ("", 0), "P": ("", 0)}
    if word[0] == "D" and word[1:].isdigit():
        word = word[1:]
    if word.isdigit() and len(word) == 1:
        return typed(rng, types[int(word)] if int(word) < len(types) else "b32")
    if word == "!p":
        return "!p1"
    if word in kinds:
        return register(rng, kinds[word][1], kinds[word][0])
    if word.lstrip("D") == "w0":
        return typed(rng, types[0] if types else "b32", 2)
    if word == "i":
        return rng.choice(["1", "4", "-1", "0x10", "31", "0f40000000" if rng.random() < 0.3 else "2"])
    if word[0] == "N" and word[1:].lstrip("-").isdigit():
        return word[1:]
    if word == "Q":
        return "q0"
    if word == "a":
        return address(rng, next((w for w in words if w.split(":")[0] in ("global", "shared", "const", "local", "param")), ""))
    if word == "V":
        count = next((int(w[1:]) for w in words if w in ("v2", "v4", "v8")), 1)
        return "{%s}" % ",".join(typed(rng, types[-1] if types else "b32") for _ in range(count)) if count > 1 else typed(rng, types[-1] if types else "b32")
    return word


def expand(rng, text, types, words):
    """One operand of the pattern; spaces inside of it are written as _ or stand in braces."""
    if text.startswith("[") and "_" in text:
        inner = text[1:-1].split("_{")
        parts = inner[0].split("_")
        if len(inner) == 1:
            return "[%s,%s]" % (parts[0], one(rng, parts[1], types, words))
        coords = [one(rng, c, types, words) for c in inner[1].rstrip("}").split("_")]
        return "[%s,{%s}]" % (",".join(parts), ",".join(coords))
    if text[0] in "{(":
        close = {"{": "}", "(": ")"}[text[0]]
        end = text.index(close)
        inner = ",".join(one(rng, w, types, words) for w in text[1:end].split())
        rest = text[end + 1:]
        return text[0] + inner + close + (("|" + one(rng, rest[1:], types, words)) if rest.startswith("|") else "")
    if "|" in text:
        return "|".join(one(rng, w, types, words) for w in text.split("|"))
    return one(rng, text, types, words)


def split(pattern):
    found, depth, at = [], 0, ""
    for c in pattern:
        depth += (c in "{(") - (c in "})")
        if c == " " and not depth:
            found.append(at)
            at = ""
        else:
            at += c
    return found + [at] if at else found


def is_type(word):
    return word in SIZES or (word[0] in "usbf" and word[1:].isdigit()) or word in ("e4m3", "e5m2", "u4", "s4", "b1") or (word[0] in "eu" and word.endswith("x2"))


def spell(rng, chosen):
    """A form of the family: mostly with operands that fit."""
    opcode, slots, patterns = chosen
    words = [w for w in (rng.choice(slot) for slot in slots) if w != "-"]
    types = [w for w in words if is_type(w)]
    operands = [expand(rng, text, types, words) for text in split(rng.choice(patterns))]
    if operands and rng.random() < 0.15:
        operands[rng.randrange(len(operands))] = rng.choice(ODD)
    if rng.random() < 0.02:
        operands = operands[:-1] if rng.random() < 0.5 else operands + [rng.choice(ODD)]
    text = ".".join([opcode] + words)
    if opcode == "call":
        return "%s %s;" % (text, ", ".join(operands))
    return "%s %s;" % (text, ", ".join(operands)) if operands else text + ";"
