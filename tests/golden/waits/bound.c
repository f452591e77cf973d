// Threads that compute, sleep and fork; each prints its own truth.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(clockid_t c){struct timespec t;clock_gettime(c,&t);return t.tv_sec*1e3+t.tv_nsec/1e6;}
static void work(double ms){double s=now(CLOCK_THREAD_CPUTIME_ID);while(now(CLOCK_THREAD_CPUTIME_ID)-s<ms);}
static void nap(long ms){struct timespec t={0,ms*1000000};nanosleep(&t,0);}
static void round_(const char*n,double c,long s){double b=now(CLOCK_MONOTONIC);for(int i=0;i<4;i++){work(c);nap(s);}
 double e=now(CLOCK_MONOTONIC);printf("%s %d ran %.3f ms, lasted %.3f ms\n",n,gettid(),now(CLOCK_THREAD_CPUTIME_ID),e-b);fflush(stdout);}
static void*one(void*a){pthread_setname_np(pthread_self(),"one");round_("one",5,3);return 0;}
static void*two(void*a){pthread_setname_np(pthread_self(),"two");round_("two",2,10);return 0;}
int main(){pthread_t a,b;pthread_create(&a,0,one,0);pthread_create(&b,0,two,0);
 pid_t c=fork();if(!c){round_("child",7,2);_exit(0);}
 round_("first",1,12);pthread_join(a,0);pthread_join(b,0);waitpid(c,0,0);return 0;}
