# SPDX-License-Identifier: Apache-2.0
"""Reads the Vulkan registry, vk.xml: what the API is, as far as this platform's headers declare it.

Nothing here is about traces. Facts about the registry's form come from Khronos' "The Vulkan API
Registry". Works for registries newer than the one at hand: whatever is marked for another variant of
the API (vulkansc) or another platform is left out, numbers are never assumed.
"""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

# Platforms whose headers compile anywhere once their opaque types are declared: api/vulkan/tables/headers.h.
PLATFORMS = ('xlib', 'xlib_xrandr', 'xcb', 'wayland', 'provisional')
LOADER_MAGIC = ('VkBaseInStructure', 'VkBaseOutStructure')  # names for walking chains, no structs


@dataclass
class Member:
    """A member of a struct or a parameter of a command."""
    name: str
    type: str  # without const, *, []
    pointers: int  # how many *
    const: bool  # what the (outermost) pointer points to is const
    declaration: str  # as in C
    dims: list  # of an array: numbers as text, perhaps names of constants
    bits: int  # of a bit field: its width; else 0
    len: list  # the len attribute, one for each level of pointers
    altlen: str
    optional: list
    ignored: bool  # noautovalidity: may be anything where other members say so
    selector: str  # of a union: the member that says which of its members is there
    selection: list  # in a union: values of the selector
    objecttype: str  # of a number that is a handle: the member that says of which type
    stride: str  # the parameter with the distance of elements
    value: str  # the only legal value: of sType


@dataclass
class Struct:
    name: str
    union: bool
    members: list
    extends: list  # structs in whose pNext chain it may be
    returned: bool  # only given by the implementation
    platform: str = ''

    @property
    def stype(self):
        """The name of its VkStructureType, "" for a struct that is in no chain."""
        first = self.members[0] if self.members else None
        return first.value if first and first.name == 'sType' else ''


@dataclass
class Command:
    name: str
    result: str
    params: list
    alias_of: str
    origin: str  # the version or extension that brought it first
    buffer: bool  # recorded into a command buffer
    platform: str = ''
    level: str = ''  # instance, device; "": of neither


@dataclass
class Enum:
    name: str
    flags: bool
    wide: bool  # 64 bits
    values: list = field(default_factory=list)  # (name, number), aliases of names left out


@dataclass
class Registry:
    version: str  # of the headers
    constants: dict
    enums: dict
    flags: dict  # Vk...Flags -> (name of its bits' enum or "", wide)
    handles: dict  # name -> (VkObjectType name, dispatchable, name of the parent or "")
    structs: dict
    commands: dict
    aliases: dict  # of types: name -> name
    functions: set  # names of function pointer types
    base: dict  # base types: name -> C type


def for_vulkan(element, attribute='api'):
    """Is an element for the API itself, and not only for the safety critical variant?"""
    apis = element.get(attribute)
    return apis is None or any(api not in ('vulkansc', 'disabled', '') for api in apis.split(','))


def number(text, constants):
    text = constants.get(text, text)
    if isinstance(text, (int, float)):
        return text
    match = re.fullmatch(r'\(?(~?)(-?\d+|0x[0-9a-fA-F]+)([UL]*)\)?(?:-(\d))?', text)
    if not match:
        return float(text.rstrip('fF'))
    value = int(match[2], 0)
    if match[1]:
        value = (1 << (64 if 'LL' in match[3] else 32)) - 1 - value
    return value - int(match[4] or 0)


def text_of(element, *without):
    """An element's text without that of its children of these names."""
    parts = [element.text or '']
    for child in element:
        parts += ['' if child.tag in without else text_of(child), child.tail or '']
    return ''.join(parts)


def words(text, glue=','):
    return [word for word in (text or '').split(glue) if word]


def read_member(element):
    declaration = ' '.join(text_of(element, 'comment').split())
    name, type_name = element.findtext('name'), element.findtext('type')
    before, _, after = declaration.rpartition(name)
    bits = re.match(r'\s*:\s*(\d+)', after)
    return Member(
        name, type_name, before.count('*'), bool(re.match(r'(struct )?const ', declaration)),
        re.sub(r' ?(\*+) ?', r' \1', declaration).replace('* const', '*const'),
        re.findall(r'\[(\w+)\]', after), int(bits[1]) if bits else 0,
        words(element.get('len')) if 'latexmath' not in element.get('len', '') else [],
        element.get('altlen', ''), words(element.get('optional')),
        element.get('noautovalidity') == 'true', element.get('selector', ''),
        words(element.get('selection')), element.get('objecttype', ''), element.get('stride', ''),
        element.get('values', ''))


class Reader:
    def __init__(self, path):
        self.root = ElementTree.parse(path).getroot()
        self.used = {}  # name of a type or command -> (origin, platform)
        self.made = Registry('', {}, {}, {}, {}, {}, {}, {}, set(), {})
        self.requirements = list(self.blocks())
        for origin, platform, block in self.requirements:
            for item in block:
                if item.tag in ('type', 'command'):
                    self.used.setdefault(item.get('name'), (origin, platform))
        self.read_constants()
        self.read_enums()
        self.read_types()
        self.read_commands()
        self.close()

    def blocks(self):
        """(origin, platform, <require> element) of each version and extension that is for us."""
        for feature in self.root.findall('feature'):
            if for_vulkan(feature):
                for block in feature.findall('require'):
                    if for_vulkan(block):
                        yield feature.get('name'), '', block
        for extension in self.root.find('extensions'):
            platform = extension.get('platform', '')
            if not for_vulkan(extension, 'supported') or (platform and platform not in PLATFORMS):
                continue
            for block in extension.findall('require'):
                if for_vulkan(block):
                    block.set('number', extension.get('number'))
                    yield extension.get('name'), platform, block

    # ---- constants and enums --------------------------------------------------------------------

    def read_constants(self):
        for enums in self.root.findall('enums'):
            if enums.get('name') in ('API Constants', 'Vulkan Global Constants') or \
                    enums.get('type') == 'constants':
                for item in enums.findall('enum'):
                    value = item.get('value') or self.made.constants.get(item.get('alias'))
                    self.made.constants[item.get('name')] = number(value, self.made.constants)

    def read_enums(self):
        for enums in self.root.findall('enums'):
            if enums.get('type') not in ('enum', 'bitmask'):
                continue
            enum = Enum(enums.get('name'), enums.get('type') == 'bitmask',
                        enums.get('bitwidth') == '64')
            self.made.enums[enum.name] = enum
            for item in enums.findall('enum'):
                self.add_value(enum, item, 0)
        for _, _, block in self.requirements:
            for item in block.findall('enum'):
                enum = self.made.enums.get(item.get('extends'))
                if enum and for_vulkan(item):
                    self.add_value(enum, item, block.get('number', '0'))

    def add_value(self, enum, item, extension):
        """Aliases are names of values that are there under another name."""
        if item.get('alias') or not for_vulkan(item):
            return
        if item.get('bitpos'):
            value = 1 << int(item.get('bitpos'))
        elif item.get('offset'):
            base = 1000000000 + (int(item.get('extnumber', extension)) - 1) * 1000
            value = base + int(item.get('offset'))
            value = -value if item.get('dir') == '-' else value
        else:
            value = number(item.get('value'), self.made.constants)
        if all(value != known for _, known in enum.values):
            enum.values.append((item.get('name'), value))

    # ---- types ----------------------------------------------------------------------------------

    def read_types(self):
        for item in self.root.find('types'):
            category, name = item.get('category'), item.get('name') or item.findtext('name')
            if not for_vulkan(item):
                continue
            if name == 'VK_HEADER_VERSION':
                self.made.version = text_of(item).split()[-1]
            elif item.get('alias'):
                self.made.aliases[name] = item.get('alias')
            elif category == 'bitmask':
                bits = item.get('requires') or item.get('bitvalues') or ''
                self.made.flags[name] = (bits, item.findtext('type') == 'VkFlags64')
            elif category == 'handle':
                self.made.handles[name] = (item.get('objtypeenum'),
                                           item.findtext('type') == 'VK_DEFINE_HANDLE',
                                           item.get('parent', ''))
            elif category == 'funcpointer':
                self.made.functions.add(name)
            elif category == 'basetype':
                self.made.base[name] = item.findtext('type') or ''
            elif category in ('struct', 'union') and name not in LOADER_MAGIC:
                self.made.structs[name] = self.read_struct(item, name, category)

    def read_struct(self, item, name, category):
        members = [read_member(member) for member in item.findall('member') if for_vulkan(member)]
        return Struct(name, category == 'union', members, words(item.get('structextends')),
                      item.get('returnedonly') == 'true')

    def read_commands(self):
        aliases = []
        for item in self.root.find('commands'):
            if item.get('alias'):
                aliases.append(item)
            elif for_vulkan(item) and item.findtext('proto/name') in self.used:
                name = item.findtext('proto/name')
                params = [read_member(param) for param in item.findall('param') if for_vulkan(param)]
                origin, platform = self.used[name]
                self.made.commands[name] = Command(name, item.findtext('proto/type'), params, '',
                                                   origin, item.get('cmdbufferlevel') is not None,
                                                   platform)
        for command in self.made.commands.values():
            command.level = self.level(command)
        for item in aliases:
            self.alias(item.get('name'), item.get('alias'))

    def level(self, command):
        """Whose dispatch table has a command: that of the object that its first argument is, or
        comes from."""
        name = command.params[0].type if command.params else ''
        if not self.made.handles.get(name, ('', False))[1]:
            return ''
        while name in self.made.handles and name not in ('VkInstance', 'VkDevice'):
            name = self.canonical(self.made.handles[name][2].split(',')[0])
        return {'VkInstance': 'instance', 'VkDevice': 'device'}.get(name, '')

    def alias(self, name, target):
        known = self.made.commands.get(target)
        if known and name in self.used:
            origin, platform = self.used[name]
            self.made.commands[name] = Command(name, known.result, known.params, target, origin,
                                               known.buffer, platform, known.level)

    # ---- what is left ---------------------------------------------------------------------------

    def canonical(self, name):
        while name in self.made.aliases:
            name = self.made.aliases[name]
        return name

    def close(self):
        """Members name no aliases, and only structs remain that something of ours uses."""
        for owner in (*self.made.structs.values(), *self.made.commands.values()):
            for member in owner.members if isinstance(owner, Struct) else owner.params:
                member.type = self.canonical(member.type)
            if isinstance(owner, Struct):
                owner.extends = [self.canonical(name) for name in owner.extends]
        wanted = [self.canonical(name) for name in self.used]
        wanted += [param.type for command in self.made.commands.values()
                   for param in command.params]
        seen = set()
        while wanted:
            name = wanted.pop()
            if name in self.made.structs and name not in seen:
                seen.add(name)
                wanted += [member.type for member in self.made.structs[name].members]
        platforms = {self.canonical(name): platform for name, (_, platform) in self.used.items()}
        self.made.structs = {name: struct for name, struct in self.made.structs.items()
                             if name in seen}
        for struct in self.made.structs.values():
            struct.platform = platforms.get(struct.name, '')


def read(path):
    return Reader(path).made
