// A thread sends datagrams to itself over loopback: the kernel delivers them in the soft interrupt
// NET_RX, within the calls.
//
//   cc -O1 -o soft soft.c && perf record -a -k mono -o soft.data -e sched:sched_switch \
//       -e sched:sched_waking,sched:sched_process_fork,sched:sched_process_exec \
//       -e irq:softirq_entry,irq:softirq_exit,irq:irq_handler_entry,irq:irq_handler_exit ./soft
//   perf script --ns -i soft.data >soft.txt
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
int main(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int end = socket(AF_INET, SOCK_DGRAM, 0);
  bind(end, (void *)&at, size);
  getsockname(end, (void *)&at, &size);
  connect(end, (void *)&at, size);
  char bytes[30000] = {0};
  for (int i = 0; i < 150; i++) { send(end, bytes, sizeof bytes, 0); recv(end, bytes, sizeof bytes, 0); }
  return 0;
}
