#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the generator reads out of a registry, and what it refuses in vulkan.api and vulkan.ids.

    vulkan_description_test.py FOLDER_OF_GENERATOR
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import description  # noqa: E402
import vulkan_model  # noqa: E402
import vulkan_registry  # noqa: E402

REGISTRY = '''<registry>
<types>
  <type category="define">#define <name>VK_HEADER_VERSION</name> 400</type>
  <type category="basetype">typedef <type>uint32_t</type> <name>VkFlags</name>;</type>
  <type category="handle" objtypeenum="VK_OBJECT_TYPE_DEVICE">
    <type>VK_DEFINE_HANDLE</type>(<name>VkDevice</name>)</type>
  <type category="handle" parent="VkDevice" objtypeenum="VK_OBJECT_TYPE_THING">
    <type>VK_DEFINE_NON_DISPATCHABLE_HANDLE</type>(<name>VkThing</name>)</type>
  <type category="handle" name="VkThingKHR" alias="VkThing"/>
  <type category="struct" name="VkRange">
    <member len="size">const <type>void</type>* <name>address</name></member>
    <member><type>size_t</type> <name>size</name></member>
  </type>
  <type category="struct" name="VkPacked">
    <member><type>uint32_t</type> <name>low</name>:24</member>
    <member><type>uint32_t</type> <name>high</name>:8</member>
  </type>
  <type category="struct" name="VkInfo">
    <member values="VK_STRUCTURE_TYPE_INFO"><type>VkStructureType</type> <name>sType</name></member>
    <member>const <type>void</type>* <name>pNext</name></member>
    <member><type>uint32_t</type> <name>n</name></member>
    <member len="n" api="vulkan">const <type>VkThingKHR</type>* <name>pThings</name></member>
    <member len="n" api="vulkansc">const <type>uint32_t</type>* <name>pThings</name></member>
    <member><type>VkRange</type> <name>range</name></member>
    <member><type>VkPacked</type> <name>packed</name></member>
  </type>
</types>
<enums name="API Constants"/>
<enums name="VkStructureType" type="enum"><enum value="5" name="VK_STRUCTURE_TYPE_INFO"/></enums>
<enums name="VkObjectType" type="enum">
  <enum value="3" name="VK_OBJECT_TYPE_DEVICE"/><enum value="4" name="VK_OBJECT_TYPE_THING"/></enums>
<enums name="VkResult" type="enum"><enum value="0" name="VK_SUCCESS"/></enums>
<commands>
  <command><proto><type>VkResult</type> <name>vkCreateThing</name></proto>
    <param><type>VkDevice</type> <name>device</name></param>
    <param>const <type>VkInfo</type>* <name>pInfo</name></param>
    <param><type>VkThing</type>* <name>pThing</name></param></command>
  <command><proto><type>void</type> <name>vkShake</name></proto>
    <param><type>VkDevice</type> <name>device</name></param></command>
  <command api="vulkansc"><proto><type>void</type> <name>vkSafe</name></proto>
    <param><type>VkDevice</type> <name>device</name></param></command>
</commands>
<feature api="vulkan,vulkansc" name="VK_VERSION_9_0"><require>
  <command name="vkCreateThing"/><command name="vkShake"/><command name="vkSafe"/></require></feature>
<extensions>
  <extension name="VK_KHR_more" number="3" supported="vulkan"><require>
    <enum extends="VkResult" offset="1" dir="-" name="VK_ERROR_MORE"/></require></extension>
  <extension name="VK_WIN_only" number="4" supported="vulkan" platform="win32"><require>
    <enum extends="VkResult" offset="1" name="VK_WINDOW"/></require></extension>
</extensions>
</registry>
'''

API = 'vkCreate*\n    generated create\n'


def made(api=API, ids=''):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ('vk.xml', 'x.api', 'x.ids')]
        for path, text in zip(paths, (REGISTRY, api, ids)):
            path.write_text(text)
        try:
            return vulkan_model.make(vulkan_registry.read(paths[0]), paths[1], paths[2])
        except description.Problems as problems:
            return str(problems).replace(folder + '/', '').splitlines()


def struct(model, name):
    return next(table for table in model.structs if table.name == name)


def command(model, name):
    return next(table for table in model.commands if table.name == name)


class Registry(unittest.TestCase):
    def test_other_variants_and_platforms_are_left_out(self):
        model = made()
        self.assertEqual([table.name for table in model.commands if table.name == 'vkSafe'], [])
        values = [name for name, _ in model.registry.enums['VkResult'].values]
        self.assertEqual(values, ['VK_SUCCESS', 'VK_ERROR_MORE'])
        self.assertEqual(len(struct(model, 'VkInfo').rows), 6)

    def test_values_of_extensions(self):
        values = dict(made().registry.enums['VkResult'].values)
        self.assertEqual(values['VK_ERROR_MORE'], -1000002001)

    def test_aliases_are_followed(self):
        row = struct(made(), 'VkInfo').rows[3]
        self.assertEqual((row.kind, row.type, row.count_kind, row.count),
                         ('HANDLE', 'VkThing', 'MEMBER', 2))

    def test_a_count_comes_before_what_it_counts(self):
        self.assertEqual([row.name for row in struct(made(), 'VkRange').rows], ['size', 'address'])

    def test_bit_fields(self):
        rows = struct(made(), 'VkPacked').rows
        self.assertEqual([(row.kind, row.offset, row.count) for row in rows],
                         [('BITS', '0', 24 << 8), ('BITS', '0', 24 | 8 << 8)])

    def test_what_a_create_makes(self):
        self.assertEqual([row.role for row in command(made(), 'vkCreateThing').rows],
                         ['', '', 'object'])

    def test_a_command_nobody_knows_taints(self):
        shake = command(made(), 'vkShake')
        self.assertEqual((shake.status, shake.options), ('unmodelled', {'taints'}))


class Numbers(unittest.TestCase):
    def test_pinned(self):
        self.assertEqual(command(made(ids='command 7 vkShake\n'), 'vkShake').id, 7)

    def test_not_pinned(self):
        number = command(made(), 'vkShake').id
        self.assertTrue(0x800 <= number < 0x1000)
        self.assertEqual(command(made(ids='command 9 vkCreateThing\n'), 'vkShake').id, number)

    def test_twice(self):
        self.assertEqual(made(ids='command 7 vkShake\ncommand 7 vkCreateThing\n'),
                         ['x.ids:2: command 7 vkCreateThing is there twice'])


class Refused(unittest.TestCase):
    def refused(self, lines, *expected):
        self.assertEqual(made(API + lines), list(expected))

    def test_unknown_trait(self):
        self.refused('VkInfo\n    n: odd\n', 'x.api:4: unknown trait "odd"')

    def test_unknown_option(self):
        self.refused('vkShake\n    generated state quickly\n', 'x.api:4: unknown option "quickly"')

    def test_name_of_another_registry(self):
        self.assertEqual(command(made(API + 'vkBake\n    generated state\n', 'command 3 vkBake\n'),
                                 'vkShake').status, 'unmodelled')

    def test_name_of_nothing(self):
        self.refused('vkBake\n    generated state\n', 'x.api:3: nothing is called vkBake')

    def test_pattern_of_nothing(self):
        self.refused('vkBake*\n    generated state\n', 'x.api:3: nothing is called vkBake*')


if __name__ == '__main__':
    unittest.main()
