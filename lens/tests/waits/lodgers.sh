#!/bin/sh
# Records the fixtures of same.rs, as root: lodgers.sh EVENTCNV LODGER FOLDER
# The machine needs a processor with a constant counter, and few other programs that run.
set -e
eventcnv=$(realpath "$1") lodger=$(realpath "$2")
mkdir -p "$3"
cd "$3"
export MPS_TELEMETRY_CONTROL=all

cat > all.sh <<'S'
run() { MPS_TELEMETRY_FILENAME=lodger.$1.log "$lodger" | sed "s/^/$1 /" >> lodger.truth.txt; }
case "$1" in
house)  # Both get the number 100.
    for name in first second; do
        echo 99 > /proc/sys/kernel/ns_last_pid
        MPS_TELEMETRY_FILENAME=lodger.$name.log "$lodger" > out
        sed "s/^/$name /" out >> lodger.truth.txt
    done ;;
nested) run nested ;;
*)
    run plain
    unshare --pid --fork --mount-proc sh all.sh house
    unshare -T --fork --monotonic 10000 unshare --pid --fork --mount-proc \
        unshare --pid --fork --mount-proc sh all.sh nested ;;
esac
S
rm -f lodger.*
export lodger
"$eventcnv" waits record -o all.log --force -- sh all.sh
"$eventcnv" cut all.log -o threads.part --force \
    --events Switch,Waking,Woken,ThreadName,Fork,Exec,Exit,There,Inside
# Calls for locks, sleeps and processes, and those that return a number of a process.
calls=
for call in 202 230 61 247 56 435 186 39 218 272; do
    calls="${calls:+$calls or }call == $call"
done
"$eventcnv" cut all.log -o calls.part --force --events Syscall,SyscallDone --where "$calls"
"$eventcnv" merge threads.part calls.part -o lodger.kernel.log --force
gzip -9nf lodger.*.log
