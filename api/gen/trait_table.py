#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The traits of all APIs' calls and objects, as one table: api/traits.h.

    trait_table.py FILE.api... FILE.ids... OUTPUT

In each .api file a line

    traits WORD...               of the call that it stands below, indented: enum tsm_call_trait;
                                 "binds=MEMBER" and "writes=MEMBER" name the member that is changed,
                                 "device=FIELD" the field that has a device
    own-traits NAME: WORD...     the same of a record that the .ids file does not have
    objects WORD...: NAME...     of types of objects: enum tsm_object_trait
    api-traits WORD...           of the API: enum tsm_api_trait
    failures NAME...             results that say that commands which were sent before have failed
    object-stems A B             what its names of types of objects begin with

Names and patterns of Vulkan's calls and ioctls are those of the .ids file: this needs no header."""

import fnmatch
import pathlib
import re
import sys

from description import TRAIT_LINES, Problems, read_lines
from text import HEAD

CALL = ('transient', 'global', 'maps', 'begins', 'resets', 'names', 'binds', 'writes', 'address',
        'exposes', 'unrelated', 'submits', 'presents', 'host-function', 'executes', 'label-begin',
        'label-end', 'begins-capture', 'ends-capture', 'creates-graph', 'clones-graph', 'adds-node',
        'destroys-node', 'names-nodes', 'names-child', 'instantiates', 'launches-graph', 'may-wait',
        'device', 'enters', 'leaves', 'runs', 'copies', 'fills', 'from-queue',
        'asks', 'only-waits', 'gathers', 'spreads')
GRAPH = CALL[CALL.index('begins-capture'):CALL.index('may-wait')] + ('host-function',)
OBJECT = ('ground', 'droppable', 'carrier', 'recording', 'memory', 'image', 'context', 'event',
          'signal', 'graph', 'array', 'device', 'program')
APIS = {'cuda': 1, 'hsa': 2, 'hip': 3}  # enum sbt_api, of those whose .api files have numbers
API = ('nests', 'kernel', 'shows-submits', 'in-order')
WITH_TARGET = ('binds', 'writes', 'device')


def call_of(text):
    """Number, name and alias of the call that a line which is not indented begins; or nothing."""
    match = re.match(r'(\d+) (?:\w+ )?(\w+)(?:\(| = (\w+))', text)
    return (int(match[1]), match[2], match[3]) if match else (0, None, None)


class ApiTraits:
    def __init__(self, path, ids):
        self.api = path.stem
        self.patterns = bool(ids)
        self.problems = []
        self.own = {}  # call -> {word: target}
        self.like = {}  # call -> the one whose traits it has
        self.objects = {}
        self.traits, self.stems, self.failures = [], [], []
        self.numbers = dict(ids)
        self.said = []  # (pattern, word, target), for names that the .ids file lacks
        self.last = max(ids.values(), default=0xffff)
        names, patterns = [], []
        for place, indented, text in read_lines(path):
            if not indented:
                names = self.top(place, text, ids)
                patterns = text.split() if ids and text.split()[0] not in TRAIT_LINES else []
            elif text.startswith('traits '):
                if not names:
                    self.problems.append(f'{place}: no call is called {" ".join(patterns)}')
                for name in names:
                    self.call(place, name, text.split()[1:])
                self.said += [(pattern, *word.partition('=')[::2])
                              for pattern in patterns if '*' in pattern for word in text.split()[1:]]
            elif text.startswith('like ') and names and not self.patterns:
                self.like[names[0]] = text.split()[1]
        self.check()

    def top(self, place, text, ids):
        """Returns the calls whose lines follow."""
        word, _, rest = text.partition(' ')
        if word == 'objects':
            words, _, types = rest.partition(':')
            for one in words.split():
                self.known(place, one, OBJECT)
                for name in types.split():
                    self.objects.setdefault(name, set()).add(one)
        elif word == 'own-traits':
            name, _, words = rest.partition(':')
            self.call(place, name, words.split())
        elif word == 'api-traits':
            self.traits = rest.split()
            for one in self.traits:
                self.known(place, one, API)
        elif word == 'failures':
            self.failures += rest.split()
        elif word == 'object-stems':
            self.stems = rest.split()
        elif self.patterns:
            return [name for name in ids if any(fnmatch.fnmatchcase(name, one) for one in text.split())]
        else:
            number, name, alias_of = call_of(text)
            if name:
                self.numbers[name] = number
            if alias_of:
                self.like[name] = alias_of
            self.own.setdefault(name, {})
            return [name] if name else []
        return []

    def known(self, place, word, words):
        if word not in words:
            self.problems.append(f'{place}: unknown trait "{word}": one of {", ".join(words)}')

    def call(self, place, name, words):
        for word in words:
            word, _, target = word.partition('=')
            self.known(place, word, CALL)
            if target and word not in WITH_TARGET:
                self.problems.append(f'{place}: "{word}" has no member')
            self.own.setdefault(name, {})[word] = target

    def check(self):
        if self.problems:
            raise Problems('\n'.join(self.problems))

    def calls(self):
        """Call -> {word: target}, of those that have any."""
        out = {}
        for name in self.own:
            root, seen = name, set()
            while root in self.like and root not in seen:
                seen.add(root)
                root = self.like[root]
            words = {**self.own.get(root, {}), **self.own[name]}
            if words:
                out[name] = words
        return out


def flags(prefix, words, order):
    return ' | '.join(f'{prefix}_{word.upper().replace("-", "_")}' for word in order if word in words) or '0'


def call_rows(apis):
    rows = []
    for one in apis:
        for name, words in one.calls().items():
            target = next((target for target in words.values() if target), '')
            rows.append((name, one.api, f'    {{"{name}", "{target}", SBT_API_{one.api.upper()},\n'
                                        f'     {flags("TSM_TRAIT", words, CALL)}}},\n'))
    return ''.join(row for _, _, row in sorted(rows))


def pattern_rows(apis):
    return ''.join(f'    {{"{pattern}", "{target}", SBT_API_{one.api.upper()}, '
                   f'{flags("TSM_TRAIT", [word], CALL)}}},\n'
                   for one in apis for pattern, word, target in one.said)


def object_rows(apis, patterns):
    """A name that several APIs have gets what each says: analysis asks by name alone."""
    merged = {}
    for one in apis:
        for name in one.objects:
            merged.setdefault(name, set()).update(*(
                one.objects[pattern] for pattern in one.objects if fnmatch.fnmatchcase(name, pattern)))
    return ''.join(f'    {{"{name}", {flags("TSM_OBJECT", words, OBJECT)}}},\n'
                   for name, words in sorted(merged.items()) if ('*' in name) == patterns)


def api_rows(apis):
    text = ''
    for one in apis:
        stems = ', '.join(f'"{stem}"' for stem in one.stems) or 'NULL, NULL'
        text += f'    [SBT_API_{one.api.upper()}] = {{{flags("TSM_API", one.traits, API)}, {{{stems}}}, {one.last}}},\n'
    return text


def failure_rows(apis):
    rows = sorted((name, one.api) for one in apis for name in one.failures)
    return ''.join(f'    {{SBT_API_{api.upper()}, "{name}"}},\n' for name, api in rows)


def graph_rows(apis):
    rows = sorted((APIS[one.api], one.numbers[name], one.api, words) for one in apis if one.api in APIS
                  for name, words in one.calls().items() if set(words) & set(GRAPH))
    return ''.join(f'    {{SBT_TYPE(SBT_API_{api.upper()}, {number}), {flags("TSM_TRAIT", words, GRAPH)}}},\n'
                   for _, number, api, words in rows)


def make(api_paths, ids_paths):
    ids = {path.stem: {name: int(number) for number, name in re.findall(
        r'^(?:command|ioctl) (\d+) (\S+)', path.read_text(encoding='utf-8'), re.M)} for path in ids_paths}
    apis = [ApiTraits(path, ids.get(path.stem, {})) for path in api_paths]
    return (HEAD + f'static const struct tsm_call_traits call_rows[] = {{\n{call_rows(apis)}}};\n\n'
            f'static const struct tsm_call_traits pattern_rows[] = {{\n{pattern_rows(apis)}}};\n\n'
            f'static const struct type_traits graph_rows[] = {{\n{graph_rows(apis)}}};\n\n'
            f'static const struct object_traits object_rows[] = {{\n{object_rows(apis, False)}}};\n\n'
            f'static const struct object_traits object_pattern_rows[] = {{\n{object_rows(apis, True)}}};\n\n'
            f'static const struct call_name failure_rows[] = {{\n{failure_rows(apis)}}};\n\n'
            f'static const struct api_traits api_rows[] = {{\n{api_rows(apis)}}};\n')


def main():
    *inputs, output = map(pathlib.Path, sys.argv[1:])
    try:
        output.write_text(make([path for path in inputs if path.suffix == '.api'],
                               [path for path in inputs if path.suffix == '.ids']), encoding='utf-8')
    except Problems as problems:
        sys.exit(str(problems))


if __name__ == '__main__':
    main()
