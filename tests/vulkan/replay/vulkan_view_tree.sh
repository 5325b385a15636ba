#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tsview --tree: submits, command buffers, commands, nested by labels, with names and shaders.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan look.sbt "$TEST_BUILD/vk_look" >look.out
status 0 tsview --tree look.sbt
# What lies in what, by indentation: calls and labels only.
sed -n 's/^.\{30\}\( *\)\(outer\|inner\|VkCommandBuffer#[0-9][^,]*\|vkCmd[A-Za-z]*\|vkQueueSubmit\).*/\1\2/p' out |
    head -17 >shape
cat >wanted <<'END'
vkQueueSubmit
  VkCommandBuffer#1 "work": 15 commands
    outer
      vkCmdBindPipeline
      vkCmdBindDescriptorSets
      vkCmdPushConstants
      vkCmdDispatch
      vkCmdPipelineBarrier
      inner
        vkCmdExecuteCommands
          VkCommandBuffer#2: 10 commands
            vkCmdBindPipeline
            vkCmdBindDescriptorSets
            vkCmdPushConstants
            vkCmdDispatch
            vkCmdPipelineBarrier
            vkCmdBindPipeline
END
diff wanted shape || fail "another shape"
grep -q 'VkCommandBuffer#1 "work": 15 commands, as at [0-9]*$' out || fail "shown twice"
grep -q 'image=VkImage#1 "picture"' out || fail "no name"
hash=$(tracesmith shaders look.sbt | head -c 8)
grep -q "shaders $hash" out || fail "no shader"
# A part of it.
second=$(tsview --json --calls='vkQueueSubmit*' look.sbt | sed -n 's/^{"seq":\([0-9]*\),.*/\1/p' | sed -n 2p)
status 0 tsview --tree --range="$second:" --limit=1 look.sbt
[ "$(grep -c vkQueueSubmit out)" = 1 ] || fail "$(cat out)"

status 0 tsview --tree --json look.sbt
python3 - <<'END' || fail "$(head -c 2000 out)"
import json
lines = [json.loads(line) for line in open("out")]
assert lines[0]["schema"] == "tstree/1"
assert {"words", "work", "picture"} == {line["name"] for line in lines if "name" in line}
sent = [line for line in lines if "record" in line]
calls = [s["record"]["call"] for s in sent]
assert calls == ["vkQueueSubmit", "vkQueueSubmit2KHR", "vkQueueSubmit"], calls
first, again = sent[0]["command_buffers"][0], sent[1]["command_buffers"][0]
assert first["id"] == "VkCommandBuffer#1" and first["name"] == "work"
outer = first["commands"][0]
assert outer["label"] == "outer" and len(outer["commands"]) == 11
inner = outer["commands"][5]
assert inner["label"] == "inner"
secondary = inner["commands"][0]["command_buffers"][0]
assert [c["call"] for c in secondary["commands"]].count("vkCmdDispatch") == 2
assert "commands" not in again and again["shown_seq"] == sent[0]["record"]["seq"]
END

record_mode labels
status 0 tsview --tree labels.sbt
sed -n 2p out | grep -q '^ *frame$' || fail "no label of the queue: $(cat out)"
sed -n 3p out | grep -q '^ .\{30\} vkQueueSubmit' || fail "not in the label: $(cat out)"
