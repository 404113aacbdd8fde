#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Run the fuzz targets on their corpus, then for a time on what is made of it.
# Usage: run.sh [--libfuzzer] [--seconds N] [--seed N] [--total | --merge] [TARGET...]
# With --libfuzzer (clang) coverage guides; new inputs and the processor seconds spent are kept in
# build-fuzz/. --merge takes those inputs that reach anything new into the corpus, and the seconds
# into seconds.tsv, so that long runs add up; --total prints the sums. Otherwise a driver of our own
# runs seeded mutations. Both with address and undefined-behaviour sanitizers.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=3 seed=1 libfuzzer='' total='' merge='' targets=''
passed=0 failed=0 skipped=0

usage() {
    sed -n '4,9s/^# //p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --libfuzzer) libfuzzer=yes ;;
        --seconds) seconds=${2:?} && shift ;;
        --seed) seed=${2:?} && shift ;;
        --total) total=yes ;;
        --merge) merge=yes ;;
        -*) usage ;;
        *) targets="$targets $1" ;;
    esac
    shift
done

if [ -n "$libfuzzer$total$merge" ]; then
    build=$top/build-fuzz
else
    build=$top/build-sanitized
fi
[ -n "$targets" ] || targets=$(cd "$top/tests/fuzz/corpus" && echo *)

build_targets() {
    if [ -n "$libfuzzer" ]; then
        command -v clang >/dev/null 2>&1 || return 3
        [ -f "$build/build.ninja" ] || CC=clang meson setup "$build" "$top" -Dfuzz=libfuzzer \
            --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false \
            -Dc_args=-fsanitize=fuzzer-no-link || return
    else
        [ -f "$build/build.ninja" ] || meson setup "$build" "$top" --buildtype=debugoptimized \
            -Db_sanitize=address,undefined -Dwerror=false || return
    fi
    extra=faulty_target
    [ -z "$libfuzzer" ] || extra=
    # shellcheck disable=SC2046,SC2086 # lists of words
    ninja -C "$build" $(printf 'tests/fuzz/%s ' $targets $extra)
}

# unmerged TARGET, merged TARGET, spent TARGET: processor seconds so far, here, in the list, in all.
unmerged() { cat "$build/seconds/$1" 2>/dev/null || echo 0; }
merged() {
    found=$(sed -n "s/^$1\t\([0-9]*\)\$/\1/p" "$top/tests/fuzz/seconds.tsv" 2>/dev/null)
    echo "${found:-0}"
}
spent() { echo $(($(unmerged "$1") + $(merged "$1"))); }

# Inputs that reach nothing new, or are long, stay where they are.
merge_target() {
    (cd "$build" && exec "tests/fuzz/$1" -merge=1 -max_len=4096 -timeout=10 \
        "$top/tests/fuzz/corpus/$1" "corpus/$1") >"$build/$1.merge.log" 2>&1 || return
    sum=$(spent "$1")
    {
        grep -v "^$1$(printf '\t')" "$top/tests/fuzz/seconds.tsv" 2>/dev/null
        printf '%s\t%d\n' "$1" "$sum"
    } | sort >"$build/seconds.tsv" && mv "$build/seconds.tsv" "$top/tests/fuzz/seconds.tsv"
    echo 0 >"$build/seconds/$1"
}

# "0m12.34s 0m1.20s" of the children, as times prints it, in whole seconds.
processor_seconds() {
    awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }'
}

run_libfuzzer() {
    mkdir -p "$build/corpus/$1" "$build/seconds"
    (
        cd "$build" || exit 1
        "tests/fuzz/$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
            -print_final_stats=1 -artifact_prefix="crash-$1-" "corpus/$1" \
            "$top/tests/fuzz/corpus/$1"
        status=$?
        times >"times-$1" # in a pipe it would be another process
        processor_seconds <"times-$1" >"used-$1"
        exit "$status"
    ) >"$build/$1.log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$1.log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\) .*/coverage \1, features \2/p' \
        "$build/$1.log" | tail -n 1)
    echo $(($(unmerged "$1") + $(cat "$build/used-$1"))) >"$build/seconds/$1"
    echo "$1: ${runs:-0} runs, ${cover:-no coverage}, $(spent "$1") s of processor time in all"
    return "$status"
}

run_driver() {
    (cd "$build" && exec "tests/fuzz/$1" --seconds "$seconds" --seed "$seed" \
        "$top/tests/fuzz/corpus/$1") >"$build/$1.log" 2>&1
    status=$?
    tail -n 1 "$build/$1.log"
    return "$status"
}

if [ -n "$total" ]; then
    for target in $targets; do
        echo "$target: $(spent "$target") s"
    done
    exit 0
fi
if [ -n "$merge" ]; then
    for target in $targets; do
        merge_target "$target" || exit
        echo "$target: $(find "$top/tests/fuzz/corpus/$target" -type f | wc -l) inputs, $(spent \
            "$target") s"
    done
    exit 0
fi
mkdir -p "$build" 2>/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
build_targets >"$log" 2>&1
case $? in
    0) ;;
    3)
        echo "SKIPPED fuzz: clang is not installed"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
        ;;
    *)
        tail -n 40 "$log"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
        ;;
esac
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:abort_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:abort_on_error=1
if [ -z "$libfuzzer" ]; then
    # What a driver that loses inputs finds is worth nothing.
    if sh "$top/tests/fuzz/check_driver.sh" "$build/tests/fuzz/faulty_target"; then
        passed=1
    else
        failed=1
    fi
fi
for target in $targets; do
    if { [ -n "$libfuzzer" ] && run_libfuzzer "$target"; } ||
        { [ -z "$libfuzzer" ] && run_driver "$target"; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$target FAILED:"
        tail -n 40 "$build/$target.log"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
