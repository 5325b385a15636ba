# SPDX-License-Identifier: Apache-2.0
"""The tables of api/drm/tables.h, as C."""

from drm_model import Struct
from text import HEAD, guarded

NODES = {'drm': 'DRM', 'kfd': 'KFD', 'dmabuf': 'DMABUF', 'sync_file': 'SYNC_FILE',
         'udmabuf': 'UDMABUF', 'dma_heap': 'DMA_HEAP', 'nvidia': 'NVIDIA', 'nvidia_uvm': 'NVIDIA_UVM', 'habanalabs': 'HABANALABS'}
DRIVER_MAX, TERM_MAX, NO_MEMBER = 3, 2, 255
SMALL_MAX = 16  # DRM_SMALL_MAX
SIGNED = ('INT', 'FD', 'ENUM')


class Texts:
    """All names, one after the other; place 0 is the empty one."""

    def __init__(self):
        self.places, self.size = {'': 0}, 1

    def place(self, name):
        if name not in self.places:
            self.places[name] = self.size
            self.size += len(name) + 1
        return self.places[name]

    def lines(self):
        return ''.join(f'    "{name}\\0"\n' for name in self.places)


class Tables:
    def __init__(self, model):
        self.model, self.texts = model, Texts()
        self.enums = list(model.tables)
        self.hooks = sorted({ioctl.hook for ioctl in model.ioctls if ioctl.hook})
        self.members, self.structs, self.choices = [], [], []
        for struct in model.structs:
            self.struct(struct)

    def flags(self, prefix, names):
        return ' | '.join(f'{prefix}_{name}' for name in sorted(names)) or '0'

    def type(self, member):
        if isinstance(member.type, Struct):
            return member.type.place
        if member.kind in ('HANDLE', 'FD'):
            return self.model.objects.index(member.type)
        return self.enums.index(member.type) if member.kind in ('ENUM', 'FLAGS') else 0

    def struct(self, struct):
        first, choice_first = len(self.members), len(self.choices)
        for m in struct.members:
            size = 0 if m.kind == 'STRUCT' else m.size
            self.members.append(
                f'{self.texts.place(m.name)}, {m.number}, {m.offset}, {self.type(m)}, {m.per}, '
                f'{m.around.place + 1 if m.around else 0}, '
                f'DRM_KIND_{m.kind}, DRM_FORM_{m.form}, DRM_COUNT_{m.count}, {m.scale}, {size}, '
                f'{self.flags("DRM_MEMBER", m.flags | ({"SIGNED"} if m.kind in SIGNED else set()))}, '
                f'{m.less}, {m.factor + 1}')
        self.choices += [f'{value:#x}, {place}' for value, place in struct.choices]
        place, mask = struct.selector or (NO_MEMBER, 0)
        flags = {name for name, on in (('UNION', struct.union), ('BORROWED', struct.borrowed),
                                       ('FLAT', self.is_flat(struct))) if on}
        self.structs.append(
            f'{self.texts.place(struct.name)}, {struct.id}, {struct.size}, {first}, '
            f'{len(struct.members)}, {choice_first}, {len(struct.choices)}, '
            f'{self.flags("DRM_STRUCT", flags)}, {place}, '
            f'{NO_MEMBER if struct.otherwise < 0 else struct.otherwise}, '
            f'{NO_MEMBER if struct.next < 0 else struct.next}, {mask:#x}')

    def is_flat(self, struct):
        return not struct.union and all(m.form == 'ONE' and m.kind not in ('STRUCT', 'NOTHING', 'HOSTPTR')
                                        for m in struct.members)

    def is_small(self, i):
        """A few numbers, of which none names a stream or has to be kept for later, and no effects."""
        return (not i.unfollowed and not i.returns and not self.gives_fd(i) and not i.maps and i.into and i.out in (None, i.into) and self.is_flat(i.into) and not i.map and
                len(i.into.members) <= SMALL_MAX and i.into.size == i.request >> 16 & 0x3fff and
                i.kind != 'SBT_KIND_COMMAND' and not i.early)

    def gives_fd(self, i):
        return i.out and any(m.kind == 'FD' and m.form == 'ONE' for m in i.out.members)

    def ioctl(self, i):
        flags = {name for name, on in (('SAFE', i.safe), ('DISPLAY', i.display), ('UNFOLLOWED', i.unfollowed), ('EARLY', i.early), ('TEXT', i.text), ('GIVES_FD', self.gives_fd(i)),
                                       ('SMALL', self.is_small(i)), ('MAP_OUT', i.map and i.map[2])) if on}
        terms = ', '.join(f'{{{mask}, {{{offset}, {size}}}}}' for offset, size, mask in i.stream[:TERM_MAX])
        handle, offset = (i.map[:2], i.map[3:]) if i.map else ((0, 0), (0, 0))
        maps = ', '.join(f'{{{at}, {size}}}' for at, size in i.maps) or '{0, 0}, {0, 0}, {0, 0}'
        hook = f'DRM_HOOK_{i.hook.upper()}' if i.hook else 'DRM_HOOK_NONE'
        return (f'{self.texts.place(i.name)}, {i.request:#x}, {i.id}, {i.family}, '
                f'{i.into.place + 1 if i.into else 0}, {i.out.place + 1 if i.out else 0}, {i.kind}, '
                f'{self.flags("DRM_IOCTL", flags)}, {hook}, {len(i.stream)}, DRM_NODE_{NODES.get(i.returns, "NONE")}, '
                f'{{{terms or "{0}"}}}, {{{handle[0]}, {handle[1]}}}, {{{offset[0]}, {offset[1]}}}, {maps}, '
                f'{{{i.gone[0]}, {i.gone[1]}}}, {{{i.tells[0]}, {i.tells[1]}}}, {i.done or "DRM_TELLS_POINTS"}')

    def families(self):
        for place, f in enumerate(self.model.description.families):
            rows = [n for n, ioctl in enumerate(self.model.ioctls) if ioctl.family == place]
            drivers = ', '.join(str(self.texts.place(name)) for name in f.drivers[:DRIVER_MAX])
            yield (f'{self.texts.place(f.name)}, {{{drivers or "0"}}}, {rows[0] if rows else 0}, '
                   f'{len(rows)}, DRM_NODE_{NODES[f.node]}')

    def values(self):
        """Rows of the enums, and of their values."""
        enums, values = [], []
        for name in self.enums:
            rows = self.model.tables[name]
            enums.append(f'{self.texts.place(name)}, {len(values)}, {len(rows)}')
            values += [f'{self.texts.place(value_name)}, {value:#x}ull' for value_name, value in rows]
        return enums, values


def rows(type, name, lines):
    body = ''.join(f'    {{{line}}},\n' for line in lines) or '    {0},\n'
    return f'const {type} {name}[] = {{\n{body}}};\n\n'


def make(model):
    t = Tables(model)
    ioctls = [t.ioctl(i) for i in model.ioctls]
    families = list(t.families())
    enums, values = t.values()
    objects = [str(t.texts.place(name)) for name in model.objects]
    body = (rows('struct drm_member', 'drm_members', t.members) +
            rows('struct drm_struct', 'drm_structs', t.structs) +
            rows('struct drm_choice', 'drm_choices', t.choices) +
            rows('struct drm_ioctl', 'drm_ioctls', ioctls) +
            rows('struct drm_family', 'drm_families', families) +
            rows('struct drm_enum', 'drm_enums', enums) +
            rows('struct drm_value', 'drm_values', values))
    body += 'const uint32_t drm_objects[] = {' + ', '.join(objects) + '};\n\n'
    counts = {'STRUCT': len(t.structs), 'MEMBER': len(t.members), 'IOCTL': len(ioctls),
              'FAMILY': len(families), 'ENUM': len(enums), 'VALUE': len(values),
              'OBJECT': len(objects)}
    hooks = ''.join(f'    DRM_HOOK_{name.upper()},\n' for name in ['none'] + t.hooks)
    core = [f.name for f in model.description.families].index('core')
    header = ('enum drm_hook {\n' + hooks + '};\n\n' + 'enum drm_table_size {\n' +
              ''.join(f'    DRM_{name}_COUNT = {count},\n' for name, count in counts.items()) +
              f'    DRM_FAMILY_CORE = {core},\n' + '};\n')
    text = 'const char drm_text[] =\n' + t.texts.lines() + '    ;\n'
    return {'drm_counts.h': guarded('DRM_COUNTS_H', header),
            'drm_tables.c': HEAD + '#include "api/drm/tables.h"\n\n' + body + text}
