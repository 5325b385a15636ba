# SPDX-License-Identifier: Apache-2.0
# What bash offers: options, choices of an option, traces, commands.
command -v bash > /dev/null || exit 77
touch a.sbt b.txt
tracesmith completion bash > rules
cat > complete.bash <<'B'
source ./rules
offer() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _tracesmith 2> /dev/null
    echo "$*: ${COMPREPLY[*]}"
}
offer tsview --st
offer tracesmith view --st
offer tracesmith co
offer tsview a
offer tsview --color ''
offer tsview --color = al
offer tracesmith help vie
offer tsreplay --pace = s
B
bash complete.bash
