#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int n;
static void on(int s){ if(s==SIGUSR1) n++; else n+=2; }
int f(int k){ return k>2? f(k-1)+1 : k; }
int main(void){ signal(SIGUSR1,on); for(int i=0;i<5;i++){ raise(SIGUSR1); f(i);} printf("%d\n",n); return 0; }
