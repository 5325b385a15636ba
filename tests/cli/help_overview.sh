# SPDX-License-Identifier: Apache-2.0
# Without a command the program explains itself, and fails.
tracesmith
