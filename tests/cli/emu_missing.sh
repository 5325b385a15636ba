# SPDX-License-Identifier: Apache-2.0
# The exit statuses of env(1), also when it is not the program that failed.
tracesmith emu || echo "exit $?"
tracesmith emu --nonsense true || echo "exit $?"
