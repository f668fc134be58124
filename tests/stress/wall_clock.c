/* The wall's clock, so many nanoseconds beside the true one: for every process that has this before its C library.

   The number lies in a file that all of them have mapped, so that it changes for all of them at one moment. libfaketime
   would do, but for two things: with its clock_nanosleep, Python cannot sleep; and it opens its file for each look at
   the clock. Clocks that only run forward (CLOCK_MONOTONIC) are left alone, as on a machine whose time is set. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *beside;

__attribute__((constructor)) static void find_file(void) {
  const char *path = getenv("STRESS_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *beside, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    abort(); /* a run by the true clock would pass for one by ours */
  beside = mapped;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int done = (int)syscall(SYS_clock_gettime, clock, now);
  if (done == 0 && beside && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t ns = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + *beside;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
  }
  return done;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now)
    *now = precise.tv_sec;
  return precise.tv_sec;
}
