/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pace: a model of a machine that gets faster up to so many workers, and what pace makes of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/pace.h"

struct machine {
    const char *name;
    unsigned cores, most;
    unsigned useful;  /* more workers than this bring nothing */
    double each;      /* units a worker does in a millisecond */
    double penalty;   /* part of the rate lost for each worker too many */
    unsigned seconds; /* how long the run is watched */
    unsigned low, high; /* bounds on `active` at the end */
};

static double rate_of(const struct machine *machine, unsigned active)
{
    unsigned working = active < machine->useful ? active : machine->useful;
    double over = active > machine->useful ? (active - machine->useful) * machine->penalty : 0.0;
    return working * machine->each * (1.0 - over);
}

static void test_climbs(void **state)
{
    (void)state;
    const struct machine machines[] = {
        {"a far server: latency to hide", 2, 64, 1000, 0.033, 0.0, 3, 64, 64},
        {"a near server on two cores", 2, 64, 4, 4.0, 0.005, 3, 8, 8},
        {"best at 16", 2, 64, 16, 1.0, 0.005, 3, 16, 16},
        {"many cores begin at the limit", 32, 64, 1000, 1.0, 0.0, 1, 64, 64},
        {"one connection asked for", 2, 1, 1000, 1.0, 0.0, 2, 1, 1},
        {"a limit that is no power of two", 2, 50, 1000, 0.033, 0.0, 3, 50, 50},
        {"slow parts: periods grow longer", 2, 64, 1000, 0.001, 0.0, 120, 64, 64},
        {"nothing moves at all", 2, 64, 1000, 0.0, 0.0, 60, 8, 64},
    };
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        const struct machine *machine = &machines[i];
        struct pace pace;
        double units = 1000.0; /* a resumed run does not begin at 0 */
        pace_begin(&pace, machine->cores, machine->most, 5000, (uint64_t)units);
        for (uint64_t now = 5000; now < 5000 + machine->seconds * 1000ULL; now += 50) {
            (void)pace_look(&pace, now, (uint64_t)units); /* the end is what is looked at */
            units += rate_of(machine, pace.active) * 50;
            assert_in_range(pace.active, 1, machine->most);
        }
        if (pace.active < machine->low || pace.active > machine->high) {
            print_error("%s: %u workers, not %u to %u\n", machine->name, pace.active, machine->low,
                        machine->high);
            fail();
        }
    }
}

static void test_tries_again_when_the_world_changes(void **state)
{
    (void)state;
    struct machine machine = {"", 2, 64, 4, 4.0, 0.005, 0, 0, 0};
    struct pace pace;
    double units = 0.0;
    pace_begin(&pace, 2, 64, 0, 0);
    for (uint64_t now = 0; now < 120000; now += 50) {
        if (now == 4000) {
            machine.useful = 1000; /* the server is far away now */
            machine.each = 0.033;
        }
        (void)pace_look(&pace, now, (uint64_t)units); /* the end is what is looked at */
        units += rate_of(&machine, pace.active) * 50;
    }
    assert_int_equal(pace.active, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_climbs),
        cmocka_unit_test(test_tries_again_when_the_world_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
