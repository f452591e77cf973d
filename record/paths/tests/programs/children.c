#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int f(int k){ return k>2? f(k-1)+1 : k; }
int main(void){ int st; for(int i=0;i<3;i++){ pid_t p=fork(); if(!p){ f(i+3); _exit(f(i)); } waitpid(p,&st,0); f(st&3);} fflush(stdout); st=system("exit 3"); printf("%d\n",st); pid_t p=vfork(); if(!p) _exit(f(4)); waitpid(p,&st,0); return f(st>>8)-5; }
