# SPDX-License-Identifier: GPL-2.0
# What the tests' virtual machine runs: each program of the folder.
cd /test
failed=0
for program in test_jobs test_config test_limits test_flood test_life.sh; do
    echo "# $program"
    ./$program > /tmp/$program.tap || { failed=1; echo "not ok - $program"; }
    grep -v '^1\.\.' /tmp/$program.tap
done
exit $failed
