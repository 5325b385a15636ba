# SPDX-License-Identifier: GPL-2.0
# Sourced by the tests beside it: results in the Test Anything Protocol.
count=0
failed=0
ok() { # STATUS TEXT
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}
