#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions, legal or not, and whether NVIDIA's assembler and the engine accept them.

  forms.py --forms FORM_ASKER [--count N] [--seed S] [--only OPCODES] [--ptxas FILE]
  forms.py --forms FORM_ASKER --pinned FILE [--write]

The first asks both about N random forms (opcode, modifiers, types, operands, .version, .target), and lists those that only one
accepts; exit 77 without an assembler. The second compares the engine's answers with a list of forms and the assembler's answers,
which --write makes again. Exit 1 when an answer differs that is not known to."""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from form_families import FAMILIES, HEAD, OLD_HEAD, spell  # noqa: E402

# .version and .target: new pairs, and those at which much began.
WORLDS = [("9.0", "sm_90")] * 6 + [("9.0", "sm_75"), ("9.0", "sm_80"), ("9.0", "sm_89"), ("9.0", "sm_100"), ("9.0", "sm_120"), ("9.0", "sm_90a"),
          ("9.0", "sm_100a"), ("9.0", "sm_100f"), ("8.8", "sm_103"), ("8.6", "sm_100"), ("8.1", "sm_90"), ("8.0", "sm_90"), ("7.8", "sm_90"),
          ("7.8", "sm_86"), ("7.4", "sm_80"), ("7.0", "sm_80"), ("6.5", "sm_75"), ("6.3", "sm_75"), ("6.0", "sm_70"), ("6.4", "sm_70"),
          ("5.0", "sm_61"), ("5.0", "sm_53"), ("4.3", "sm_50"), ("3.2", "sm_35"), ("3.1", "sm_30"), ("3.0", "sm_20"), ("2.3", "sm_20"),
          ("2.0", "sm_20"), ("2.0", "sm_13"), ("1.4", "sm_13"), ("1.4", "sm_11"), ("1.3", "sm_10"), ("1.0", "sm_10"), ("3.0", "sm_12"), ("3.2", "sm_13")]


def number_of(target):
    return int(re.sub("[^0-9]", "", target))


def head_of(version, target):
    head = ".version %s\n.target %s\n" % (version, target)
    if float(version) >= 2.3:
        head += ".address_size 64\n"
    wide = ".reg .b128 q0;\n" if float(version) >= 8.3 and number_of(target) >= 70 else ""
    return head + (OLD_HEAD if float(version) < 1.5 else HEAD).replace("L1:", wide + "L1:")


# ---- who is asked ----

def find_assembler(path):
    """Another version has other rules: only this one is asked, unless it was named."""
    found = path or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.path.exists(found):
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found if path or "release 13.0" in said else None


def architecture_of(target):
    return "compute_" + (target[3:] if target[-1] in "af" else str(max(75, number_of(target))))


PART = 1000  # forms in one function: of ten thousand the assembler refuses the last ones


def complaints(assembler, world, forms, folder):
    """Asks once: {index: message}, and whether nothing else was wrong."""
    head = head_of(*world)
    name = os.path.join(folder, "forms.ptx")
    with open(name, "w", encoding="ascii") as file:
        file.write(head + "".join(form + "\n" for form in forms) + "ret;\n}\n")
    done = subprocess.run([assembler, "-arch", architecture_of(world[1]), name, "-o", os.devnull], capture_output=True, text=True, check=False)
    first = head.count("\n") + 1
    found, syntax = {}, 0
    for line, message in re.findall(r"line (\d+); (?:error|fatal) *: (.*)", done.stdout + done.stderr):
        syntax += message.startswith("Parsing error")
        if not message.startswith("Parsing error") or syntax == 1:  # what follows the first one may be its fault
            found.setdefault(int(line) - first, message)
    return found, done.returncode == 0, done.stdout + done.stderr


def ask_some(assembler, world, forms, folder):
    """The assembler's message for each form, "" when it is accepted, None when it crashes. What was refused is left out, and the
    rest is asked again: some errors are found when there are no others. Of those that make it crash half is asked at a time."""
    answers, left = [""] * len(forms), list(range(len(forms)))
    while left:
        found, ok, _ = complaints(assembler, world, [forms[i] for i in left], folder)
        bad = {left[i]: message for i, message in found.items() if 0 <= i < len(left)}
        if ok:
            break
        if not bad and len(left) == 1:
            answers[left[0]] = None
            break
        if not bad:
            half = len(left) // 2
            for part in left[:half], left[half:]:
                for i, answer in zip(part, ask_some(assembler, world, [forms[i] for i in part], folder)):
                    answers[i] = answer
            break
        for i, message in bad.items():
            answers[i] = message or "refused"
        left = [i for i in left if i not in bad]
    return answers


def ask_assembler(assembler, world, forms):
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(forms), PART):
            answers += ask_some(assembler, world, forms[at:at + PART], folder)
        for i, answer in enumerate(answers):
            if answer and answer.startswith("Parsing error near ';'"):  # perhaps another one's fault
                answers[i] = ask_some(assembler, world, [forms[i]], folder)[0]
    return answers


def ask_engine(program, world, forms):
    text = head_of(*world) + "%%\n" + "".join(form + "\n" for form in forms)
    done = subprocess.run([program, str(number_of(world[1]))], input=text, capture_output=True, text=True, check=True)
    answers = done.stdout.split("\n")[:len(forms)]
    return [re.sub(r"^ptx input, line \d+; error: ", "", answer) for answer in answers]


# Differences that are meant, or that are the assembler's own: (accepted by the assembler, form, reason).
KNOWN = [
    (True, r"\bf64\b", "f64 below sm_13, which the assembler makes f32"),
    (True, r"\[r0\]|^cvta\S*\.u32|^(mapa|getctarank)\.u32", "32-bit addresses of global and generic memory"),
    (True, r"^\S+ (.*[ ,{])?(fn|gv|sv|cv|lv|tv|pq|pr)\b", "addresses in operands that the assembler does not look at"),
    (True, r"^(addc|subc|madc)\.", "carries of 16 bits and with .sat, which the instruction set does not have"),
    (True, r"^(testp\.f|fma\S*\.(r[mzp]|oob)\S*\.bf?16|rcp\.r\w\.ftz\.f64)", "forms that the instruction set does not have"),
    (True, r"^(st|red)\.async", "less than the instruction set asks for: no barrier, a space of no cluster, fewer elements"),
    (True, r"^atom\S*\.b(32|64) .*, \S+, \S+, \S+;", "operands too many"),
    (True, r"^(tex|tld4|suld|sust|sured)\.", "coordinates in one register, samplers that are none, elements too few"),
    (True, r"^wmma\.\S*|^prefetch\.tensormap|^cp\.|^cvt\.pack|^cvta?\.", "widths and modifiers that are not looked at"),
    (True, r"v4r|v2r|v4f", "vector registers for one of their elements"),
    (True, r"\.b128 .*, \d+;|\br1\+4", "constants of 128 bits, and sums of another size"),
    (True, r"^mov\.v2\.|^ld\.const\S* .* p\d;", "one register for a vector, a predicate for an address"),
    (False, r"^rcp\.approx\.f64", "a program's generator leaves .ftz out"),
    (False, r"^(wmma|multimem|mbarrier|cp|mma|ldmatrix|stmatrix|txq|istypep|cvt|vmad|v\w+[24])\.", "rarer operands, spaces and orders that are not checked"),
    (False, r"^(st\.bulk|match|elect|tld4|tex|suld|sust|suq|txq)", "rarer operands that are not checked"),
    (False, r"^(sub|add|fma|bmsk|szext|mul|min|max|vadd|vsub)\S* ", "types of registers where bits would do"),
]


def is_known(accepted, form):
    return any(accepted == known and re.search(pattern, form) for known, pattern, _ in KNOWN)


# ---- random forms ----

def generate(rng, count, only):
    families = [f for f in FAMILIES if not only or f[0] in only]
    by_world = {}
    for _ in range(count):
        family = rng.choice(families)
        by_world.setdefault(rng.choice(WORLDS), set()).add(spell(rng, family))
    return {world: sorted(forms) for world, forms in by_world.items()}


def compare(assembler, program, by_world, say):
    counts = {"forms": 0, "legal": 0, "known": 0, "engine only": 0, "assembler only": 0}
    for world, forms in by_world.items():
        theirs, ours = ask_assembler(assembler, world, forms), ask_engine(program, world, forms)
        for form, there, here in zip(forms, theirs, ours):
            counts["forms"] += 1
            counts["legal"] += there == ""
            if there is None or bool(there) == bool(here):
                continue
            if is_known(not there, form):
                counts["known"] += 1
                continue
            kind = "engine only" if there else "assembler only"
            counts[kind] += 1
            say("%s\t%s %s\t%s\t%s" % (kind, *world, form, there or here))
    return counts


# ---- pinned forms ----

def read_pinned(name):
    """{world: [(accepted, form)]}"""
    found, world = {}, None
    with open(name, encoding="ascii") as file:
        for line in file.read().splitlines():
            if line.startswith("."):
                world = tuple(line[1:].split())
            elif line and not line.startswith("#"):
                found.setdefault(world, []).append((line[0] == "+", line[2:]))
    return found


def check_pinned(program, name):
    wrong = total = 0
    for world, rows in read_pinned(name).items():
        for (accepted, form), here in zip(rows, ask_engine(program, world, [form for _, form in rows])):
            total += 1
            if accepted == bool(here) and not is_known(accepted, form):
                wrong += 1
                print("%s %s: %s: %s" % (*world, form, here or "accepted, and the assembler refuses it"))
    print("%d forms, %d answered otherwise" % (total, wrong))
    return wrong == 0 and total > 0


def write_pinned(assembler, name, by_world):
    with open(name, "w", encoding="ascii") as file:
        file.write("# Made by forms.py --write: +, the assembler (ptxas 13.0) accepts the form; -, it does not.\n")
        for world, forms in sorted(by_world.items()):
            file.write(".%s %s\n" % world)
            for form, there in zip(forms, ask_assembler(assembler, world, forms)):
                if there is not None:
                    file.write("%s %s\n" % ("-" if there else "+", form))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", required=True, help="the program form_asker of the build folder")
    parser.add_argument("--count", type=int, default=2000, help="about so many forms (2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="opcodes, by commas")
    parser.add_argument("--ptxas", help="the assembler")
    parser.add_argument("--pinned", help="a list of forms and answers")
    parser.add_argument("--write", action="store_true", help="make the list again, of COUNT forms")
    options = parser.parse_args()
    assembler = find_assembler(options.ptxas)
    if options.pinned and not options.write:
        return 0 if check_pinned(options.forms, options.pinned) else 1
    if not assembler:
        print("no ptxas 13.0 here")
        return 77
    only = set(filter(None, options.only.split(",")))
    by_world = generate(random.Random(options.seed), options.count, only)
    if options.write:
        write_pinned(assembler, options.pinned, by_world)
        return 0
    counts = compare(assembler, options.forms, by_world, print)
    print(", ".join("%s: %d" % item for item in counts.items()))
    return 1 if counts["engine only"] or counts["assembler only"] else 0


if __name__ == "__main__":
    sys.exit(main())
