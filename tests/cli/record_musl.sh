# SPDX-License-Identifier: Apache-2.0
# Programs that no preloaded library reaches run as always, and it is said; so do those that recorded programs start.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] && command -v musl-gcc > /dev/null || exit 77
echo 'extern int puts(const char *); extern char *getenv(const char *);
int main(void) { puts(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "nothing preloaded"); return 7; }' > a.c
musl-gcc -o musl a.c
printf '#!%s/musl\n' "$PWD" > script && chmod 755 script
status() { "$@" && echo "exit 0" || echo "exit $?"; }
status tsrecord ./musl
status tsrecord ./script
gcc -static -o static a.c
LD_PRELOAD= status tsrecord ./static | sed "s|$BUILD|BUILD|"
export LD_PRELOAD="$BUILD/interpose/libts_capture.so"
status sh -c ./musl
status sh -c ./script
status env ./musl
status python3 -c 'import os; os._exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("musl", ["musl"], os.environ), 0)[1]))'
status python3 -c 'import os; os._exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp("./script", ["a"], os.environ), 0)[1]))'
status python3 -c 'import os; os.execv("musl", ["musl"])'
status python3 -c 'import os; os.execve(os.open("musl", os.O_RDONLY), ["musl"], os.environ)'
LD_PRELOAD="libm.so.6:$LD_PRELOAD libm.so.6" status sh -c ./musl
