# SPDX-License-Identifier: Apache-2.0
"""Reads api/drm/drm.api. Its syntax is explained at its top. Nothing here knows the headers."""

import fnmatch
import re
from dataclasses import dataclass, field

from description import TRAIT_LINES, Problems

KINDS = {'query': 'QUERY', 'create': 'CREATE', 'destroy': 'DESTROY', 'submit': 'COMMAND',
         'wait': 'SYNC', 'state': 'STATE', 'other': 'OTHER'}
NODES = ('drm', 'kfd', 'dmabuf', 'sync_file', 'udmabuf', 'dma_heap', 'nvidia', 'nvidia_uvm', 'habanalabs')


@dataclass
class Family:
    name: str
    node: str = 'drm'
    drivers: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    ioctls: list = field(default_factory=list)  # patterns


@dataclass
class IoctlRule:
    kind: str = 'other'
    safe: bool = False
    display: bool = False
    unfollowed: bool = False
    stream: list = None  # terms: (member path, mask or 0); or ['@hook']
    map: tuple = None  # (path of the handle, path of the offset)
    maps: tuple = None  # (path of the handle, of the address, of the size)
    returns: str = ''  # what the call returns is a descriptor of such a file
    text: int = 0  # the argument is a text of so many characters at most
    tells: tuple = None  # (member that comes out, its value when the device is done; '': a list of points)


@dataclass
class Chain:
    """Structs that are linked: each begins with a `header`, whose member `next` has the address of the next
    one, and whose `selector` says which struct it is."""
    place: str
    header: str
    next: str
    selector: str
    choices: list  # (value text, struct)


@dataclass
class MemberRule:
    """What is said of a struct's member."""
    place: str
    type: str = ''  # list, lists, bytes, text; or a scalar's: hex, size, handle, fd, flags ...
    detail: str = ''
    count: str = ''
    direction: str = 'in'
    life: str = ''  # of handle and fd: new, gone
    selector: str = ''
    mask: str = ''
    choices: list = field(default_factory=list)  # (value text, name)
    used: bool = False


class Description:
    def __init__(self, path):
        self.path, self.problems = path, []
        self.families, self.defines, self.ioctls, self.structs = [], {}, [], []
        self.chains = {}
        self.read()
        if self.problems:
            raise Problems('\n'.join(self.problems))

    def wrong(self, place, text):
        self.problems.append(f'{place}: {text}')

    def read(self):
        names = []
        for number, line in enumerate(self.path.read_text(encoding='utf-8').splitlines(), 1):
            place = f'{self.path.name}:{number}'
            line = line.split('#')[0].rstrip()
            if not line:
                continue
            if line.split()[0] in (*TRAIT_LINES, 'traits'):
                continue  # trait_table.py
            if line.startswith('family '):
                self.family(place, line.split()[1:])
            elif line.startswith('define '):
                _, name, text = line.split(None, 2)
                self.defines[name] = text
            elif line.startswith('chain '):
                self.chain(place, line.split()[1:])
            elif line[0].isspace():
                self.rule(place, names, line.strip())
            else:
                names = line.split()

    def family(self, place, words):
        family = Family(words[0])
        for word in words[1:]:
            key, _, value = word.partition('=')
            if key == 'node' and value in NODES:
                family.node = value
            elif key in ('driver', 'header', 'ioctls'):
                setattr(family, {'driver': 'drivers', 'header': 'headers'}.get(key, key),
                        value.split(','))
            else:
                self.wrong(place, f'{word}?')
        self.families.append(family)

    def chain(self, place, words):
        if len(words) < 4 or words[2] != 'by':
            self.wrong(place, 'chain NAME HEADER.NEXT by MEMBER VALUE=STRUCT...')
            return
        header, _, following = words[1].partition('.')
        self.chains[words[0]] = Chain(place, header, following, words[3],
                                      [tuple(pair.split('=')) for pair in words[4:]])

    def rule(self, place, names, text):
        if not names:
            self.wrong(place, 'of what?')
        elif re.match(r'[\w.*]+\??:', text):
            member, _, traits = text.partition(':')
            rule = self.member(place, traits)
            rule.used = member.endswith('?')
            self.structs.append((names, member.removesuffix('?'), rule))
        else:
            self.ioctls.append((place, names, self.ioctl(place, text.split())))

    def ioctl(self, place, words):
        rule = IoctlRule(words[0])
        if words[0] not in KINDS:
            self.wrong(place, f'{words[0]} is no kind')
        for word in words[1:]:
            key, _, value = word.partition('=')
            if word == 'safe':
                rule.safe = True
            elif word == 'display':
                rule.display = True
            elif word == 'unfollowed':
                rule.unfollowed = True
            elif key == 'stream':
                rule.stream = [(a, b) for a, _, b in (term.partition('&') for term in value.split(','))]
            elif key == 'returns' and value in NODES:
                rule.returns = value
            elif key == 'text' and value.isdigit():
                rule.text = int(value)
            elif key == 'maps' and value.count(':') == 2:
                rule.maps = tuple(value.split(':'))
            elif key == 'tells':
                member, _, done = value.partition(':')
                rule.tells = (member, done)
            elif key == 'map':
                handle, _, offset = value.partition(':')
                rule.map = (handle, offset)
            else:
                self.wrong(place, f'{word}?')
        return rule

    def member(self, place, text):
        rule = MemberRule(place)
        count = re.search(r'\[(.*)\]', text)
        if count:
            rule.count = count[1].replace(' ', '')
            text = text.replace(count[0], '')
        words = text.split()
        while words:
            word = words.pop(0)
            if word in ('in', 'out', 'inout'):
                rule.direction = word
            elif word in ('new', 'gone'):
                rule.life = word
            elif word in ('list', 'lists', 'handle', 'fd', 'flags', 'enum'):
                rule.type = word
                if words and words[0] not in ('by', 'handle'):
                    rule.detail = words.pop(0)
                elif words and words[0] == 'handle':
                    words.pop(0)
                    rule.detail = 'handle ' + words.pop(0)
            elif word in ('by', 'choose'):
                rule.selector, _, rule.mask = words.pop(0).partition('&')
                rule.type = rule.type if word == 'by' else 'choose'
                rule.choices = [tuple(pair.split('=')) for pair in words]
                words = []
            elif word in ('bytes', 'text', 'hex', 'uint', 'int', 'bool', 'size', 'devptr', 'hostptr', 'user', 'inline'):
                rule.type = word
            else:
                self.wrong(place, f'{word}?')
        return rule

    # ---- questions -----------------------------------------------------------------------------

    def family_of(self, name):
        """The place of the family that an ioctl belongs to; the first that matches."""
        for place, family in enumerate(self.families):
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in family.ioctls):
                return place
        return None

    def ioctl_rule(self, name):
        """Later lines override earlier ones."""
        result = IoctlRule()
        for _, patterns, rule in self.ioctls:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                result = rule
        return result

    def member_rule(self, struct, member):
        result = None
        for patterns, name, rule in self.structs:
            if any(fnmatch.fnmatchcase(struct, pattern) for pattern in patterns) and \
                    fnmatch.fnmatchcase(member, name):
                rule.used = True
                result = rule
        return result

    def is_special(self, place):
        """Is anything said of the struct that is this member, STRUCT.MEMBER?"""
        return any(place in names for names, _, _ in self.structs)

    def named_structs(self):
        """Structs that pointers lead to."""
        names = set()
        for _, _, rule in self.structs:
            if rule.type in ('list', 'lists'):
                names.add(rule.detail)
                names.update(name for _, name in rule.choices)
        for chain in self.chains.values():
            names.add(chain.header)
            names.update(name for _, name in chain.choices)
        return sorted(name for name in names if name.startswith(('drm_', '_drm_', 'i915_', 'hl_', 'qaic_', 'kfd_', 'sync_', 'udmabuf_')))
