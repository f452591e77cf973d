// Threads that wait for each other by sockets, and print how long and for whom.
//
//   cc -O1 -pthread -o peers peers.c && eventcnv waits record -o all.log -- ./peers >peers.txt
//
// A line of the output: scene, thread that waited, thread that it waited for, ms that it waited, ms
// that the other one computed and slept meanwhile. With an argument the server of `tcp` runs in the
// network namespace /run/netns/peers, at 10.99.0.2.
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ROUNDS = 5 };
static double rate; // ticks in a ms: a spin makes no system call
static const char *outside;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
static void compute(double ms) {
  unsigned long long end = __rdtsc() + ms * rate;
  while (__rdtsc() < end);
}
static void work(double ms) {
  struct timespec t = {0, ms * 1e6};
  compute(ms);
  nanosleep(&t, 0);
}
static void name(const char *of) { prctl(PR_SET_NAME, of); }
static void tell(const char *scene, const char *who, const char *whom, double waited, double did) {
  printf("%s %s %s %.3f %.3f\n", scene, who, whom, waited, did);
  fflush(stdout);
}
static int inet(int type, struct sockaddr_in *at) {
  int s = socket(AF_INET, type, 0);
  socklen_t size = sizeof *at;
  *at = (struct sockaddr_in){.sin_family = AF_INET};
  at->sin_addr.s_addr = inet_addr(outside && type == SOCK_STREAM ? "10.99.0.2" : "127.0.0.1");
  bind(s, (void *)at, size);
  if (type == SOCK_STREAM) listen(s, 9);
  getsockname(s, (void *)at, &size);
  return s;
}
static int join(const struct sockaddr_in *at) {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  connect(s, (const void *)at, sizeof *at);
  return s;
}

// A server answers after 2 ms of computing and 2 ms of sleep.
static void serve(const char *server, int s, int is_stream) {
  struct sockaddr_storage from;
  char b[10];
  name(server);
  for (int i = 0; i < ROUNDS; i++) {
    socklen_t size = sizeof from;
    recvfrom(s, b, 10, 0, is_stream ? 0 : (void *)&from, is_stream ? 0 : &size);
    work(2);
    sendto(s, b, 10, 0, is_stream ? 0 : (void *)&from, is_stream ? 0 : size);
  }
  exit(0);
}
static void ask(const char *scene, const char *client, const char *server, int c) {
  char b[10] = "123456789";
  double waited = 0;
  name(client);
  for (int i = 0; i < ROUNDS; i++) {
    double t = now();
    send(c, b, 10, 0);
    recv(c, b, 10, 0);
    waited += now() - t;
    compute(0.5);
  }
  tell(scene, client, server, waited, ROUNDS * 4);
  exit(0);
}
static void tcp(void) {
  struct sockaddr_in at;
  int ready[2];
  pipe(ready);
  if (!fork()) {
    if (outside) setns(open("/run/netns/peers", O_RDONLY), CLONE_NEWNET);
    int l = inet(SOCK_STREAM, &at);
    write(ready[1], &at, sizeof at);
    serve("tcp-server", accept(l, 0, 0), 1);
  }
  read(ready[0], &at, sizeof at);
  if (!fork()) ask("tcp", "tcp-client", "tcp-server", join(&at));
  while (wait(0) > 0);
}
static void udp(void) {
  struct sockaddr_in at, own;
  int s = inet(SOCK_DGRAM, &at), c = inet(SOCK_DGRAM, &own);
  connect(c, (void *)&at, sizeof at);
  if (!fork()) serve("udp-server", s, 0);
  if (!fork()) ask("udp", "udp-client", "udp-server", c);
  while (wait(0) > 0);
}
static void local(const char *scene, int type, const char *client, const char *server) {
  int s[2];
  socketpair(AF_UNIX, type, 0, s);
  if (!fork()) serve(server, s[1], 1);
  if (!fork()) ask(scene, client, server, s[0]);
  while (wait(0) > 0);
}

// One thread asks, another one reads the answers.
static int line;
static void *asks(void *unused) {
  char b[10] = "123456789";
  name("split-asker");
  for (int i = 0; i < ROUNDS; i++) send(line, b, 10, 0), usleep(4500);
  return unused;
}
static void split(void) {
  struct sockaddr_in at;
  int l = inet(SOCK_STREAM, &at);
  if (!fork()) serve("split-server", accept(l, 0, 0), 1);
  if (!fork()) {
    pthread_t asker;
    char b[10];
    double waited = 0;
    line = join(&at);
    name("split-reader");
    pthread_create(&asker, 0, asks, 0);
    for (int i = 0; i < ROUNDS; i++) {
      double t = now();
      recv(line, b, 10, 0);
      waited += now() - t;
    }
    tell("split", "split-reader", "split-server", waited, ROUNDS * 4);
    pthread_join(asker, 0);
    exit(0);
  }
  while (wait(0) > 0);
}

// A server waits for a connection, and for its end; a client computes 3 ms before each.
static void closes(void) {
  struct sockaddr_in at;
  int l = inet(SOCK_STREAM, &at);
  if (!fork()) {
    name("close-client");
    for (int i = 0; i < ROUNDS; i++) {
      compute(3);
      int c = join(&at);
      compute(3);
      close(c);
    }
    exit(0);
  }
  if (!fork()) {
    char b;
    double waited = 0;
    name("close-server");
    for (int i = 0; i < ROUNDS; i++) {
      double t = now();
      int s = accept(l, 0, 0);
      read(s, &b, 1);
      waited += now() - t;
      close(s);
    }
    tell("close", "close-server", "close-client", waited, ROUNDS * 6);
    exit(0);
  }
  while (wait(0) > 0);
}

// A writer fills a socket whose reader computes 2 ms before it reads each 256 KiB.
static void full(void) {
  struct sockaddr_in at;
  static char big[1 << 18];
  int l = inet(SOCK_STREAM, &at), small = 1 << 16;
  setsockopt(l, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  if (!fork()) {
    int s = accept(l, 0, 0);
    name("full-reader");
    for (ssize_t got = 1; got > 0;) {
      compute(2);
      for (size_t sum = 0; sum < sizeof big && got > 0; sum += got)
        got = recv(s, big, sizeof big - sum, 0);
    }
    exit(0);
  }
  if (!fork()) {
    name("full-writer");
    int c = join(&at);
    setsockopt(c, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    double t = now();
    for (int i = 0; i < 2 * ROUNDS; i++) send(c, big, sizeof big, 0);
    tell("full", "full-writer", "full-reader", now() - t, 0);
    exit(0);
  }
  while (wait(0) > 0);
}

// A thread waits for three sockets by one epoll; three clients send in turns.
static void many(void) {
  struct sockaddr_in at;
  int l = inet(SOCK_STREAM, &at), turn[4][2];
  for (int i = 0; i < 4; i++) pipe(turn[i]);
  for (int i = 0; i < 3; i++)
    if (!fork()) {
      char of[16], b = 0;
      sprintf(of, "many-client%d", i);
      name(of);
      int c = join(&at);
      for (int j = 0; j < ROUNDS; j++) {
        read(turn[i][0], &b, 1);
        compute(1 + i);
        send(c, &b, 1, 0);
        write(turn[i + 1][1], &b, 1);
      }
      exit(0);
    }
  if (!fork()) {
    double waited = 0;
    int e = epoll_create1(0);
    name("many-server");
    for (int i = 0; i < 3; i++) {
      struct epoll_event own = {.events = EPOLLIN};
      double t = now();
      own.data.fd = accept(l, 0, 0);
      waited += now() - t;
      epoll_ctl(e, EPOLL_CTL_ADD, own.data.fd, &own);
    }
    for (int i = 0; i < 3 * ROUNDS; i++) {
      struct epoll_event one;
      char b = 0;
      if (i % 3 == 0) write(turn[0][1], &b, 1);
      double t = now();
      epoll_wait(e, &one, 1, -1);
      waited += now() - t;
      read(one.data.fd, &b, 1);
    }
    tell("many", "many-server", "many-client2", waited, ROUNDS * 6);
    exit(0);
  }
  while (wait(0) > 0);
}

// The first answer is there before the client looks; for the second one it waits.
static void early(void) {
  struct sockaddr_in at;
  int l = inet(SOCK_STREAM, &at);
  if (!fork()) {
    char b[2];
    int s = accept(l, 0, 0), yes = 1;
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    name("early-server");
    for (int i = 0; i < ROUNDS; i++) {
      recv(s, b, 1, 0);
      send(s, b, 1, 0);
      work(3);
      send(s, b, 1, 0);
    }
    exit(0);
  }
  if (!fork()) {
    char b[2];
    double waited = 0;
    int c = join(&at);
    name("early-client");
    for (int i = 0; i < ROUNDS; i++) {
      send(c, b, 1, 0);
      compute(1);
      double t = now();
      recv(c, b, 1, 0);
      recv(c, b, 1, 0);
      waited += now() - t;
    }
    tell("early", "early-client", "early-server", waited, ROUNDS * 5);
    exit(0);
  }
  while (wait(0) > 0);
}

int main(int count, char **words) {
  double t = now();
  unsigned long long ticks = __rdtsc();
  usleep(20000);
  rate = (__rdtsc() - ticks) / (now() - t);
  outside = count > 1 ? words[1] : 0;
  tcp();
  if (outside) return 0;
  udp();
  local("unix", SOCK_STREAM, "unix-client", "unix-server");
  local("dgram", SOCK_DGRAM, "dgram-client", "dgram-server");
  split();
  closes();
  full();
  many();
  early();
  return 0;
}
