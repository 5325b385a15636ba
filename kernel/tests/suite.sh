# SPDX-License-Identifier: GPL-2.0
# What the tests' virtual machine runs: each program, with one plan for all of them.
cd /test
failed=0
for program in test_*; do
    echo "# $program"
    ./$program > /tmp/$program.tap || failed=1
    grep -v '^1\.\.' /tmp/$program.tap
done
exit $failed
