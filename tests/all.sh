#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# All suites on the release build; with CI=true also under sanitizers. Logs: build/tests/*.log.
# The last line is "N passed, N failed, N skipped"; the exit code is 1 if anything failed.
# Usage: all.sh [SUITE...]
# of: style unit fake integration differential fault corruption fuzz interop bench asan tsan
# libfuzzer
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
logs=$top/build/tests
python=/usr/bin/python3
passed=0 failed=0 skipped=0 targets=''
suites="${*:-style unit fake integration differential fault corruption fuzz interop bench}"
if [ $# = 0 ] && [ "${CI:-}" = true ]; then
    suites="$suites asan tsan libfuzzer"
fi

# One suite is done: add its numbers, print its line, and on failure what it said at the end.
# close_suite NAME STATUS PASSED FAILED SKIPPED SECONDS
close_suite() {
    fails=$4
    # A suite that dies, or tells no numbers, has failed whatever it counted so far.
    if [ "$2" != 0 ] && [ "$fails" = 0 ]; then
        fails=1
    fi
    passed=$((passed + $3)) failed=$((failed + fails)) skipped=$((skipped + $5))
    printf '%-24s %5d passed %4d failed %4d skipped %5d s\n' "$1" "$3" "$fails" "$5" "$6"
    if [ "$fails" != 0 ]; then
        show_failures "$1" | sed 's/^/    /'
    fi
}

# show_failures NAME: what pytest says of them, below which tables may stand; else the log's end.
show_failures() {
    begins=$(grep -nE '^=+ (FAILURES|ERRORS) =+$' "$logs/$1.log" | head -n 1 | cut -d: -f1)
    if [ -n "$begins" ]; then
        tail -n "+$begins" "$logs/$1.log" | sed '/= short test summary/,$d' | head -n 120
        grep -E '^(FAILED|ERROR) ' "$logs/$1.log"
    else
        tail -n 60 "$logs/$1.log"
    fi
}

# number_before WORD FILE: the number before WORD in the last line that has it; 0 if none.
number_before() {
    found=$(grep -E "[0-9]+ $1" "$2" | tail -n 1 | sed -n "s/.*[^0-9]*\b\([0-9][0-9]*\) $1.*/\1/p")
    echo "${found:-0}"
}

# meson_number WORD FILE: "Ok:   12" of a meson summary.
meson_number() {
    found=$(sed -n "s/^$1: *\([0-9][0-9]*\).*/\1/p" "$2" | tail -n 1)
    echo "${found:-0}"
}

# run_counted NAME COMMAND...: a suite whose last lines tell "N passed, N failed, N skipped".
run_counted() {
    name=$1
    shift
    began=$(date +%s)
    "$@" >"$logs/$name.log" 2>&1
    status=$?
    tail -n 1 "$logs/$name.log" >"$logs/last"
    errors=$(number_before error "$logs/last")
    close_suite "$name" "$status" "$(number_before passed "$logs/last")" \
        "$(($(number_before failed "$logs/last") + errors))" \
        "$(number_before skipped "$logs/last")" "$(($(date +%s) - began))"
    # Why something was skipped is part of the result.
    grep -E '^SKIPPED ' "$logs/$name.log" | sort -u | sed 's/^/    /' | head -n 20
}

run_pytest() {
    name=$1
    shift
    run_counted "$name" "$python" -B -m pytest -q -rfEs -p no:cacheprovider --tb=short "$@"
}

# run_unit NAME BUILD [meson test arguments]
run_unit() {
    name=$1 folder=$2
    shift 2
    began=$(date +%s)
    meson test -C "$folder" --print-errorlogs "$@" >"$logs/$name.log" 2>&1
    status=$?
    bad=$(($(meson_number Fail "$logs/$name.log") + $(meson_number Timeout "$logs/$name.log") +
        $(meson_number 'Unexpected Pass' "$logs/$name.log")))
    close_suite "$name" "$status" "$(meson_number Ok "$logs/$name.log")" "$bad" \
        "$(meson_number Skipped "$logs/$name.log")" "$(($(date +%s) - began))"
}

# build FOLDER [meson setup arguments]; a failed build is one failed test. $targets: all, if empty.
build() {
    folder=$1
    shift
    name=$(basename "$folder")
    began=$(date +%s)
    # shellcheck disable=SC2086 # targets: a list of words
    {
        [ -f "$folder/build.ninja" ] || meson setup "$folder" "$top" "$@"
    } >"$logs/$name.log" 2>&1 && ninja -C "$folder" $targets >>"$logs/$name.log" 2>&1
    status=$?
    targets=''
    if [ "$status" != 0 ]; then
        close_suite "$name" 1 0 1 0 "$(($(date +%s) - began))"
    else
        printf '%-24s built in %d s\n' "$name" "$(($(date +%s) - began))"
    fi
    return "$status"
}

# show_table NAME SUITE: what the suite printed below "= NAME =".
show_table() {
    sed -n "/^=* $1 =*\$/,/^=\{5,\}\|^FAILED\|^SKIPPED\|^[0-9]* passed/p" "$logs/$2.log" |
        grep -Ev '^(=|FAILED|SKIPPED|[0-9]+ passed)' | sed 's/^/    /'
}

# Allocations that fail, corrupted volumes and fuzz targets run under gcc's sanitizers.
build_sanitized() {
    targets="winch tests/fault/winch-torture $(cd "$top/tests/fuzz" &&
        printf 'tests/fuzz/%s ' fuzz_*.c | sed 's/\.c / /g')"
    build "$top/build-sanitized" --buildtype=debugoptimized -Db_sanitize=address,undefined \
        -Dwerror=false
}

run_corruption() {
    build_sanitized || return
    run_counted corruption "$python" -B "$top/tests/corruption/run.py" --count 150
    sed -n '/^=* corruption =*$/,$p' "$logs/corruption.log" | sed '1d;$d;s/^/    /'
}

# Coverage guides for a longer time where there is clang.
run_libfuzzer() {
    run_counted libfuzzer sh "$top/tests/fuzz/run.sh" --libfuzzer --seconds 15
    grep '^fuzz_' "$logs/libfuzzer.log" | sed 's/^/    /'
}

# The long form: ten times as many objects in chaos, and three seeds.
run_integration() {
    if [ "${CI:-}" = true ]; then
        export WINCH_CHAOS=long
    fi
    run_pytest integration "$top/tests/integration"
    unset WINCH_CHAOS
    show_table images integration
    show_table chaos integration
}

# The long form takes some minutes more: 4 GiB for each reader, and many random trees.
run_differential() {
    if [ "${CI:-}" = true ]; then
        export WINCH_DIFFERENTIAL=long
    fi
    run_pytest differential "$top/tests/differential"
    show_table trees differential
    show_table readers differential
}

run_interop() {
    if [ "${CI:-}" = true ]; then
        sh "$top/tests/interop/clients.sh" >"$logs/clients.log" 2>&1
    fi
    run_pytest interop "$top/tests/interop"
    show_table interop interop
}

run_asan() {
    CC=clang build "$top/build-asan" --buildtype=debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false || return
    export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
    export LSAN_OPTIONS="print_suppressions=0:suppressions=$top/tests/corruption/leaks.supp"
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    run_unit asan-unit "$top/build-asan" --timeout-multiplier 4
    FAKE_GCS=$top/build-asan/fake-gcs run_pytest asan-fake "$top/tests/fake"
    # The release server keeps up with winch; the sanitized one had its own suite just now.
    WINCH=$top/build-asan/winch FAKE_GCS=$top/build/fake-gcs \
        run_pytest asan-integration "$top/tests/integration"
    unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
}

run_tsan() {
    CC=clang build "$top/build-tsan" --buildtype=debugoptimized -Db_sanitize=thread \
        -Db_lundef=false || return
    # clang 14's thread sanitizer cannot live with the address layout of newer kernels.
    fixed=
    if setarch -R true 2>/dev/null; then
        fixed='setarch -R'
    fi
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    names=$(meson test -C "$top/build-tsan" --list 2>/dev/null | sed 's/.* //' |
        grep -E '^(test_)?(upload|gcs|http|run|journal|base|auth)' | tr '\n' ' ')
    # shellcheck disable=SC2086 # names and wrapper are lists of words
    run_unit tsan-unit "$top/build-tsan" --timeout-multiplier 8 ${fixed:+--wrapper "$fixed"} $names
    # shellcheck disable=SC2086
    WINCH=$top/build-tsan/winch FAKE_GCS=$top/build/fake-gcs run_counted tsan-integration \
        $fixed "$python" -B -m pytest -q -rfEs -p no:cacheprovider --tb=short \
        "$top/tests/integration/test_kill.py" "$top/tests/integration/test_faults.py" \
        "$top/tests/integration/test_chaos.py"
    unset TSAN_OPTIONS
}

main() {
    level='test'
    case " $suites " in
        *" asan "* | *" tsan "* | *" libfuzzer "*) level=matrix ;;
    esac
    sh "$top/tests/packages.sh" "$level" || exit 1
    mkdir -p "$logs"
    images=$(mktemp -d)
    trap 'rm -rf "$images"' EXIT
    # All suites work on the same images, made once.
    export WINCH_IMAGES="$images"
    if [ "$suites" != style ]; then
        build "$top/build" --buildtype=debugoptimized
    fi
    for suite in $suites; do
        case $suite in
            style) run_counted style "$python" -B "$top/tests/style/check.py" ;;
            unit) run_unit unit "$top/build" ;;
            fake) run_pytest fake "$top/tests/fake" ;;
            integration) run_integration ;;
            differential) run_differential ;;
            fault)
                build_sanitized
                run_pytest fault "$top/tests/fault"
                show_table torture fault
                ;;
            corruption) run_corruption ;;
            fuzz)
                build_sanitized
                run_counted fuzz sh "$top/tests/fuzz/run.sh" --seconds 2
                ;;
            interop) run_interop ;;
            bench) run_counted bench "$python" -B "$top/tests/bench/limits.py" --smoke ;;
            asan) run_asan ;;
            tsan) run_tsan ;;
            libfuzzer) run_libfuzzer ;;
            *)
                echo "all.sh: no suite is named $suite" >&2
                exit 2
                ;;
        esac
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}

main
