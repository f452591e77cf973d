// File numbers that are several files, a pool of threads, and a thread without a processor: each
// prints what it measured itself.
//
//   cc -O1 -pthread -o files files.c && eventcnv waits record -o all.log -- ./files >files.txt
//
// Lines of the output, times in ms:
//   fsync THREAD PATH TIME          in fsync of that file, by CLOCK_MONOTONIC
//   pool THREAD OTHERS COUNT TIME   in read of a pipe to which threads of one name write in turns
//   delay THREAD OTHER TIME         ready and without a processor, by /proc/thread-self/schedstat
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static double rate; // ticks in a ms: a spin makes no system call
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
static void compute(double ms) {
  unsigned long long end = __rdtsc() + ms * rate;
  while (__rdtsc() < end);
}
static void name(const char *of) { prctl(PR_SET_NAME, of); }

static int make(const char *path) { return open(path, O_CREAT | O_RDWR | O_TRUNC, 0644); }
static double sync_for(int file, double ms) {
  static char bytes[65536];
  double sum = 0, end = now() + ms;
  while (now() < end) {
    write(file, bytes, sizeof bytes);
    double t = now();
    fsync(file);
    sum += now() - t;
  }
  return sum;
}
static void tell(const char *thread, const char *path, double ms) {
  printf("fsync %s %s %.3f\n", thread, path, ms);
  fflush(stdout);
}

// One number is three files; the last is open for a short time.
static void one_number(void) {
  const char *paths[] = {"a.dat", "b.dat", "c.dat"};
  double ms[] = {80, 160, 3};
  name("numbers");
  for (int i = 0; i < 3; i++) {
    int file = make(paths[i]);
    tell("numbers", paths[i], sync_for(file, ms[i]));
    close(file);
  }
}
// A copy stays what its source was; a child has the files of its parent.
static void copies(void) {
  name("copies");
  int first = make("d.dat"), copy = dup(first), other;
  double d = 0, e = 0;
  d += sync_for(first, 40);
  close(first);
  other = make("e.dat");
  for (int i = 0; i < 4; i++) d += sync_for(copy, 10), e += sync_for(other, 20);
  tell("copies", "d.dat", d);
  tell("copies", "e.dat", e);
  int third = fcntl(other, F_DUPFD, 30);
  dup2(copy, other);
  if (!fork()) {
    name("child");
    tell("child", "e.dat", sync_for(third, 30));
    tell("child", "d.dat", sync_for(other, 60));
    exit(0);
  }
  wait(0);
}

enum { HELPERS = 4, ROUNDS = 6 };
static int turn[HELPERS + 1][2], answer[2];
static void *help(void *of) {
  int own = (int)(long)of;
  char b;
  name("helper");
  for (int i = 0; i < ROUNDS; i++) {
    read(turn[own][0], &b, 1);
    compute(1);
    write(answer[1], &b, 1);
  }
  return 0;
}
static void pool(void) {
  pthread_t helpers[HELPERS];
  double waited = 0;
  char b = 0;
  name("asker");
  pipe(answer);
  for (long i = 0; i < HELPERS; i++) {
    pipe(turn[i]);
    pthread_create(&helpers[i], 0, help, (void *)i);
  }
  for (int i = 0; i < HELPERS * ROUNDS; i++) {
    write(turn[i % HELPERS][1], &b, 1);
    double t = now();
    read(answer[0], &b, 1);
    waited += now() - t;
  }
  for (int i = 0; i < HELPERS; i++) pthread_join(helpers[i], 0);
  printf("pool asker helper %d %.3f\n", HELPERS, waited);
  fflush(stdout);
}

// A thread of low priority syncs a file; another one computes on the same processor.
static double ready(void) {
  char text[100] = "";
  int file = open("/proc/thread-self/schedstat", O_RDONLY);
  read(file, text, sizeof text - 1);
  close(file);
  return strtod(strchr(text, ' '), 0) / 1e6;
}
static void delay(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(1, &one);
  sched_setaffinity(0, sizeof one, &one);
  pid_t hog = fork();
  if (!hog) {
    name("hog");
    setpriority(PRIO_PROCESS, 0, -20);
    for (int i = 0; i < 40; i++) compute(5), usleep(100);
    exit(0);
  }
  name("writer");
  int file = make("f.dat");
  sync_for(file, 150);
  printf("delay writer hog %.3f\n", ready());
  fflush(stdout);
  wait(0);
}

int main(void) {
  double t = now();
  unsigned long long ticks = __rdtsc();
  usleep(20000);
  rate = (__rdtsc() - ticks) / (now() - t);
  void (*all[])(void) = {one_number, copies, pool, delay};
  for (int i = 0; i < 4; i++) {
    if (!fork()) {
      all[i]();
      exit(0);
    }
    wait(0);
  }
  return 0;
}
