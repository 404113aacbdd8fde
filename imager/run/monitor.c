/* SPDX-License-Identifier: GPL-3.0-or-later */
/* monitor: looks four times a second. */
#include "run/monitor.h"

#include "run/stillness.h"

#include <string.h>
#include <sys/resource.h>

#define LOOK_MS 250
#define WINDOW_LOOKS 40 /* 10 s: long enough to be calm, short enough to be true */
#define DRAIN_MS 10000
#define CPU_STEP_NS 3000000000ULL /* what the monitor itself takes in an hour is less */
#define CPU_BOUND 0.85            /* of all cores: above, more of anything else does not help */

struct look {
    uint64_t at_ms, bytes, objects, read_ns, request_ns, wait_ns, ramp_ns, cpu_ns;
    unsigned throttled;
};

struct monitor {
    struct run *run;
    pthread_t thread;
    _Atomic bool stopping;
    struct look looks[WINDOW_LOOKS];
    size_t look_count; /* all looks so far; looks[i % WINDOW_LOOKS] */
    uint64_t stop_seen_ms;
    struct stillness stillness;
    enum run_limit limit;
    unsigned cores;
};

const char *run_limit_name(enum run_limit limit)
{
    static const char *const names[] = {"disk", "cpu", "network", "ramp", "server"};
    return names[limit];
}

static uint64_t cpu_ns(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail for ourselves */
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000ULL +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000ULL;
}

static uint64_t capped(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

static void take_look(struct monitor *monitor, struct look *look, struct upload_counters *counters)
{
    struct run *run = monitor->run;
    memset(counters, 0, sizeof(*counters));
    if (run->engine != NULL) {
        upload_engine_counters(run->engine, counters);
    }
    *look = (struct look){
        .at_ms = clock_monotonic_ms(),
        .bytes = capped(run->bytes_done, run->byte_count),
        .objects = capped(run->objects_done, (run->task_count - run->tasks_left)),
        .read_ns = counters->read_ns,
        .request_ns = counters->request_ns,
        .wait_ns = counters->window_wait_ns,
        .ramp_ns = counters->ramp_wait_ns,
        .cpu_ns = cpu_ns(),
        .throttled = counters->throttled,
    };
}

static enum run_limit judge(const struct monitor *monitor, const struct look *from,
                            const struct look *to)
{
    uint64_t wall_ns = (to->at_ms - from->at_ms) * 1000000ULL;
    uint64_t read = to->read_ns - from->read_ns;
    uint64_t request = to->request_ns - from->request_ns;
    uint64_t wait = to->wait_ns - from->wait_ns;
    uint64_t ramp = to->ramp_ns - from->ramp_ns;
    double cpu = wall_ns > 0 ? (double)(to->cpu_ns - from->cpu_ns) / (double)wall_ns : 0.0;
    if (ramp > read + request + wait) {
        return RUN_LIMIT_RAMP;
    }
    if (to->throttled > from->throttled || wait > read + request) {
        return RUN_LIMIT_SERVER;
    }
    if (cpu > CPU_BOUND * monitor->cores) {
        return RUN_LIMIT_CPU;
    }
    return read > request ? RUN_LIMIT_DISK : RUN_LIMIT_NETWORK;
}

/* What is left at the pace of the window. A million small objects have few bytes and take long all
 * the same: an object weighs as much as RUN_OBJECT_BYTES. */
static uint64_t time_left(const struct run *run, const struct look *from, const struct look *to)
{
    uint64_t done = to->bytes + to->objects * RUN_OBJECT_BYTES;
    uint64_t before = from->bytes + from->objects * RUN_OBJECT_BYTES;
    uint64_t total = run->byte_count + (run->task_count - run->tasks_left) * RUN_OBJECT_BYTES;
    if (done <= before || done > total || to->at_ms <= from->at_ms) {
        return UINT64_MAX;
    }
    double rate = (double)(done - before) / (double)(to->at_ms - from->at_ms);
    return (uint64_t)((double)(total - done) / rate / 1000.0);
}

/* Failed tries are no movement; reading is, and so is work of the processor. */
static uint64_t movement(const struct run *run, const struct look *now,
                         const struct upload_counters *counters)
{
    return counters->requests - counters->retries + counters->bytes_acknowledged + now->read_ns +
           now->objects + run->phase_done + now->cpu_ns / CPU_STEP_NS;
}

static void watch_stillness(struct monitor *monitor, const struct look *now,
                            const struct upload_counters *counters, uint64_t blocked_ms,
                            uint64_t offset)
{
    uint64_t still_ms = 0;
    if (!stillness_look(&monitor->stillness, movement(monitor->run, now, counters), now->at_ms,
                        &still_ms)) {
        return;
    }
    CLEANUP_TEXT struct text text = TEXT_INIT(1000);
    stillness_describe(still_ms, counters, blocked_ms, offset, &text);
    run_message(monitor->run, true, "%s", text_str(&text));
}

static void tell(struct monitor *monitor)
{
    struct run *run = monitor->run;
    struct upload_counters counters;
    struct look now;
    take_look(monitor, &now, &counters);
    size_t count = monitor->look_count;
    const struct look *oldest = &monitor->looks[count < WINDOW_LOOKS ? 0 : count % WINDOW_LOOKS];
    struct look first = count > 0 ? *oldest : now;
    monitor->looks[count % WINDOW_LOOKS] = now;
    monitor->look_count++;
    if (now.at_ms > first.at_ms) {
        monitor->limit = judge(monitor, &first, &now);
    }
    uint64_t offset = 0;
    uint64_t blocked_ms = run->disk != NULL ? disk_blocked_ms(run->disk, &offset) : 0;
    watch_stillness(monitor, &now, &counters, blocked_ms, offset);
    uint64_t window_ms = now.at_ms - first.at_ms;
    struct run_progress progress = {
        .phase = run->phase,
        .elapsed_ms = now.at_ms - run->started_ms,
        .phase_ms = now.at_ms - run->phase_started_ms,
        .done = run->phase_done,
        .total = run->phase_total,
        .objects = now.objects,
        .objects_total = (run->task_count - run->tasks_left),
        .bytes = now.bytes,
        .bytes_total = run->byte_count,
        .rate = window_ms > 0 && now.bytes > first.bytes
                    ? (now.bytes - first.bytes) * 1000 / window_ms
                    : 0,
        .eta_seconds = UINT64_MAX,
        .limited_by = monitor->limit,
        .retries = counters.retries,
        .failed = run->streams_failed,
        .stalled_ms = blocked_ms,
    };
    progress.eta_seconds = time_left(run, &first, &now);
    if (run->settings->on_progress != NULL) {
        run->settings->on_progress(run->settings->self, &progress);
    }
}

static void watch_the_end(struct monitor *monitor)
{
    struct run *run = monitor->run;
    const struct run_settings *settings = run->settings;
    uint64_t now = clock_monotonic_ms();
    if (settings->max_duration_ms > 0 && now - run->started_ms > settings->max_duration_ms &&
        !run->halt) {
        struct error err = {0};
        (void)error_stop(&err, EXIT_STATUS_TEMPORARY,
                         "--max-duration is over; the same command goes on from here");
        run_stop(run, &err);
    }
    if (settings->stop != NULL && *settings->stop && monitor->stop_seen_ms == 0) {
        struct error err = {0};
        (void)error_cancelled(&err);
        run_stop(run, &err);
    }
    if (run->halt && monitor->stop_seen_ms == 0) {
        monitor->stop_seen_ms = now;
    }
    /* Before the first request there is nothing in flight that could be drained. */
    uint64_t drain_ms = strcmp(run->phase, "scan") == 0 ? 0 : DRAIN_MS;
    if (monitor->stop_seen_ms != 0 && now - monitor->stop_seen_ms >= drain_ms &&
        settings->cancel != NULL) {
        *settings->cancel = true;
    }
}

static void *monitor_main(void *argument)
{
    struct monitor *monitor = argument;
    while (!monitor->stopping) {
        watch_the_end(monitor);
        tell(monitor);
        (void)clock_sleep_ms(LOOK_MS, &monitor->stopping); /* woken early is as good */
    }
    return NULL;
}

struct monitor *monitor_start(struct run *run, struct error *err)
{
    struct monitor *monitor = calloc(1, sizeof(*monitor));
    if (monitor == NULL) {
        (void)error_memory(err, "the monitor");
        return NULL;
    }
    monitor->run = run;
    monitor->cores = processor_count();
    monitor->limit = RUN_LIMIT_NETWORK;
    if (pthread_create(&monitor->thread, NULL, monitor_main, monitor) != 0) {
        free(monitor);
        (void)error_memory(err, "the monitor's thread");
        return NULL;
    }
    return monitor;
}

void monitor_stop(struct monitor *monitor)
{
    if (monitor == NULL) {
        return;
    }
    monitor->stopping = true;
    (void)pthread_join(monitor->thread, NULL); /* ours, joined once */
    tell(monitor);
    monitor->run->summary->limited_by = monitor->limit;
    free(monitor);
}
