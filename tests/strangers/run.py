# SPDX-License-Identifier: Apache-2.0
"""Run the programs of a table as they are and under libts_capture.so: what they print, their status and the files
that they leave must be the same.

usage: run.py TABLE [SECTION...] [--only NAME,...] [--keep]

A line of a table: name, package, what is expected, command (programs.table, odd.table). Expected is the exit
status, then, each after a comma:

  trace=N   so many traces are left, well formed and whole; 0 is the default, `trace` one or more, `trace=any` any
  cut       a trace may lack its end (the program was killed); what is there can be read
  said      one line of TraceSmith's own on standard error says what is not recorded
  may_say   such lines, or none
  ld        the dynamic linker says that it cannot preload the library (another architecture)

A program that differs from itself without us is "not comparable"; it is run again before it is called different,
for it may be a matter of luck. A package that is not installed is skipped: `scripts/deps strangers` installs all.
Meson sets TEST_BIN, TEST_CAPTURE, TEST_EMU, TEST_PROGRAMS, TEST_ODD (the folder of odd programs).
"""

import difflib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

import inputs

LIMIT = 120  # seconds; a program that takes longer is not comparable
ROUNDS = 3


class Row:
    def __init__(self, section, line):
        self.section = section
        self.name, self.package, expected, self.command = line.split(None, 3)
        words = expected.split(",")
        self.status = int(words[0])
        self.options = dict(word.partition("=")[::2] for word in words[1:])


def read_table(path):
    rows, section = [], ""
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif line.strip() and not line.startswith("#"):
            rows.append(Row(section, line))
    return rows


def installed(package, known={}):
    """A package, or several with commas between them, of which all must be there."""
    if package not in known:
        known[package] = all(
            "ok installed" in subprocess.run(["dpkg-query", "-W", "-f", "${Status}", name], capture_output=True,
                                             text=True, check=False).stdout for name in package.split(","))
    return known[package]


class Place:
    """Where programs run: the same path each time, and new."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.run = self.work / "run"
        self.traces = self.work / "traces"
        self.library = self.work / "lib"
        self.work.chmod(0o755)
        capture = pathlib.Path(os.environ["TEST_CAPTURE"])
        # Other users cannot enter every build folder.
        shutil.copytree(capture.parent, self.library, ignore=shutil.ignore_patterns("*.p"))
        self.preload = self.library / capture.name
        inputs.make(self.work / "inputs")

    def clean(self):
        for folder in self.run, self.traces, self.work / "tmp":
            subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL, check=False)
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.work / "inputs", self.run)
        self.traces.mkdir()
        (self.work / "tmp").mkdir()
        self.traces.chmod(0o777)
        (self.work / "tmp").chmod(0o1777)

    def environment(self, recorded):
        result = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/games", "HOME": str(self.run / "home"), "TERM": "dumb",
                  "LC_ALL": "C.UTF-8", "TZ": "UTC", "TMPDIR": str(self.work / "tmp"), "SHELL": "/bin/sh"}
        for name in "ACTS", "FAKE_DRM", "VK_ICD_FILENAMES", "TEST_PROGRAMS", "TEST_ODD", "TEST_EMU", "TS_TEST_PTX", "TS_EMU_CACHE":
            if name in os.environ:
                result[name] = os.environ[name]
        if recorded:
            result |= {"LD_PRELOAD": str(self.preload), "TS_OUTPUT": f"{self.traces}/%p.sbt"}
        return result


def snapshot(folder):
    """Of each file its type, rights and contents."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        mode = path.lstat().st_mode
        content = ""
        if stat.S_ISLNK(mode):
            content = os.readlink(path)
        elif stat.S_ISREG(mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = f"{stat.filemode(mode)} {content}"
    return found


def execute(place, row, recorded):
    """What can be seen of one run. None: it took too long."""
    place.clean()
    out, err = place.work / "out", place.work / "err"
    with open(out, "wb") as out_file, open(err, "wb") as err_file:
        process = subprocess.Popen(["/bin/sh", "-c", row.command], cwd=place.run, stdin=subprocess.DEVNULL,
                                   stdout=out_file, stderr=err_file, env=place.environment(recorded),
                                   start_new_session=True)
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return {"status": status if status is None or status >= 0 else 128 - status,
            "output": out.read_text(errors="replace"), "messages": err.read_text(errors="replace"),
            "files": snapshot(place.run)}


def take_messages(row, seen):
    """Remove the lines that the table allows. Returns what is wrong with them."""
    ours, others = [], []
    for line in seen["messages"].splitlines(True):
        if "ld" in row.options and "cannot be preloaded" in line:
            continue
        (ours if line.startswith("tracesmith") else others).append(line)
    seen["messages"] = "".join(others)
    if "may_say" in row.options or "said" in row.options and ours:
        return ""
    return f"said: {''.join(ours)}" if ours or "said" in row.options else ""


def check_traces(place, row):
    """What is wrong with the traces that were left."""
    files = sorted(place.traces.iterdir())
    traces = [file for file in files if file.suffix == ".sbt"]
    wanted = row.options.get("trace", "0")
    if wanted != "any" and not (wanted == "" and traces) and len(traces) != int(wanted or 0):
        return f"{len(traces)} traces: {[file.name for file in files]}"
    if "cut" in row.options:
        return next((f"cannot be read: {trace}" for trace in traces
                     if subprocess.run([f"{os.environ['TEST_BIN']}/tsview", trace], capture_output=True,
                                       check=False).returncode), "")
    if files != traces:
        return f"left behind: {[file.name for file in files]}"
    for trace in traces:
        checked = subprocess.run([f"{os.environ['TEST_BIN']}/tracesmith", "check", trace], capture_output=True,
                                 text=True, check=False)
        shown = subprocess.run([f"{os.environ['TEST_BIN']}/tsview", "--json", trace], capture_output=True, text=True,
                               check=False)
        if checked.returncode or json.loads(shown.stdout.split("\n")[0])["end"] != "finished":
            return f"a trace is damaged or not whole: {checked.stdout}{checked.stderr}{shown.stdout[:500]}"
    return ""


def explain(plain, recorded):
    said = []
    for key in ("status", "output", "messages", "files"):
        if plain[key] != recorded[key]:
            a, b = plain[key], recorded[key]
            if key == "files":
                a, b = ("\n".join(f"{k} {v}" for k, v in x.items()) for x in (a, b))
            lines = difflib.unified_diff(str(a).splitlines(), str(b).splitlines(), "plain", "recorded", "", "", 0, "")
            said.append(f"{key}:\n" + "\n".join(list(lines)[:20]))
    return "\n".join(said)


def compare(place, row):
    """Returns (outcome, text): same, different, luck, not comparable."""
    plain = execute(place, row, False)
    if plain["status"] is None:
        return "not comparable", "takes too long"
    for _ in range(ROUNDS):
        recorded = execute(place, row, True)
        wrong = take_messages(row, recorded) or check_traces(place, row)
        again = execute(place, row, False)
        if again != plain:
            return "not comparable", explain(plain, again)
        if recorded["status"] is None:
            return "different", "takes too long when recorded"
        if recorded == plain and not wrong:
            break
    if recorded != plain or wrong:
        return "different", f"{explain(plain, recorded)}\n{wrong}"
    if plain["status"] != row.status:
        return "other status", f"{plain['status']}, not {row.status}: {plain['messages'][-300:]}"
    return "same", ""


def run_rows(rows, place):
    outcomes = {}
    for row in rows:
        if not installed(row.package):
            outcomes.setdefault("skipped", []).append(row.package)
            continue
        outcome, text = compare(place, row)
        outcomes.setdefault(outcome, []).append(row.name)
        if outcome != "same":
            print(f"{row.section} {row.name}: {outcome}: {text}", flush=True)
    return outcomes


def main(argv):
    options = [word for word in argv if word.startswith("--")]
    words = [word for word in argv if not word.startswith("--")]
    only = next((word.partition("=")[2].split(",") for word in options if word.startswith("--only=")), None)
    rows = [row for row in read_table(words[0]) if (not words[1:] or row.section in words[1:])
            and (not only or row.name in only)]
    work = tempfile.mkdtemp(prefix="ts-strangers.")
    outcomes = run_rows(rows, Place(work))
    if "--keep" in options:
        print(work)
    else:
        shutil.rmtree(work, ignore_errors=True)
    print(", ".join(f"{len(outcomes.get(what, []))} {what}" for what in
                    ("same", "different", "not comparable", "other status", "skipped")))
    for what in "not comparable", "other status", "skipped":
        if what in outcomes:
            print(f"{what}: {' '.join(sorted(set(outcomes[what])))}")
    if "different" in outcomes:
        return 1
    return 0 if "same" in outcomes else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
