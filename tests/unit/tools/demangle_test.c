/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of C++ as people write them; what is no such name stays what it is.
 */
#include "tools/text/demangle.h"

#include "tests/unit/check.h"

#include <dlfcn.h>
#include <stdlib.h>

static void expect(const char *name, const char *wanted)
{
    char *plain = tsm_demangle(name);

    if (wanted)
        check_that(plain && strcmp(plain, wanted) == 0, __FILE__, __LINE__, name);
    else
        check_that(!plain, __FILE__, __LINE__, name);
    free(plain);
}

int main(void)
{
    if (!dlopen("libstdc++.so.6", RTLD_LAZY))
        return 77;
    expect("_Z3addPfi", "add(float*, int)");
    expect("_Z3addPfi.kd", "add(float*, int)");
    expect("_ZN2at6native18elementwise_kernelILi128ELi4EEEvi",
           "void at::native::elementwise_kernel<128, 4>(int)");
    expect("saxpy", NULL);
    expect("saxpy.kd", NULL);
    expect("", NULL);
    expect("_Z", NULL);
    expect("_Z.kd", NULL);
    expect("_ZNotAName", NULL);
    return check_result();
}
