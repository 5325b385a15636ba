# SPDX-License-Identifier: Apache-2.0
# The version comes on one line.
tracesmith --version
tracesmith version --json
