// Servers and clients that wait for each other by sockets of several families, and print the
// addresses of their sockets.
//
//   cc -O1 -pthread -o ends ends.c && eventcnv waits record -o all.log -- ./ends >ends.txt
//
// A line of the output: thread that waited; thread that it waited for; addresses; ms that it waited.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ROUNDS = 4 };
struct pair { const char *server, *client; int ends[2]; char name[128]; };
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
static void *serve(void *of) {
  struct pair *pair = of;
  char byte;
  prctl(PR_SET_NAME, pair->server);
  for (int at = 0; at < ROUNDS && recv(pair->ends[0], &byte, 1, 0) == 1; at++) {
    compute(12);
    send(pair->ends[0], "x", 1, 0);
  }
  return 0;
}
static void *ask(void *of) {
  struct pair *pair = of;
  char byte;
  double sum = 0;
  prctl(PR_SET_NAME, pair->client);
  for (int at = 0; at < ROUNDS; at++) {
    send(pair->ends[1], "x", 1, 0);
    double begin = now();
    recv(pair->ends[1], &byte, 1, 0);
    sum += now() - begin;
    compute(3);
  }
  printf("%s;%s;%s;%.3f\n", pair->client, pair->server, pair->name, sum);
  fflush(stdout);
  return 0;
}
static void run(struct pair *pair) {
  pthread_t threads[2];
  usleep(30000); // a look comes meanwhile
  pthread_create(&threads[0], 0, serve, pair);
  pthread_create(&threads[1], 0, ask, pair);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
static int bound(int type, struct sockaddr_in *at) {
  socklen_t size = sizeof *at;
  int end = socket(AF_INET, type, 0);
  *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  bind(end, (void *)at, size);
  getsockname(end, (void *)at, &size);
  return end;
}
int main(void) {
  unsigned long long ticks = __rdtsc();
  double begin = now();
  while (now() < begin + 20);
  rate = (__rdtsc() - ticks) / (now() - begin);
  struct sockaddr_in at[2];
  struct pair udp = {"udp-server", "udp-client"}, path = {"path-server", "path-client"};
  for (int end = 0; end < 2; end++) udp.ends[end] = bound(SOCK_DGRAM, &at[end]);
  for (int end = 0; end < 2; end++) connect(udp.ends[end], (void *)&at[!end], sizeof at[0]);
  int ports[] = {ntohs(at[1].sin_port), ntohs(at[0].sin_port)};
  sprintf(udp.name, "udp 127.0.0.1:%d to 127.0.0.1:%d", ports[0], ports[1]);
  run(&udp);
  // The end that connects has no path: the one that is accepted has that of the listener. So here
  // the accepted end asks.
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  snprintf(un.sun_path, sizeof un.sun_path, "/tmp/ends-%d.sock", getpid());
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  bind(listener, (void *)&un, sizeof un);
  listen(listener, 1);
  path.ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
  connect(path.ends[0], (void *)&un, sizeof un);
  path.ends[1] = accept(listener, 0, 0);
  sprintf(path.name, "unix %s", un.sun_path);
  run(&path);
  unlink(un.sun_path);
  usleep(30000);
}
