#include <setjmp.h>
#include <stdio.h>
static jmp_buf b; 
void deep(int k){ if(k==0) longjmp(b,1); deep(k-1); }
int main(void){ volatile int i=0; if(setjmp(b)) i++; while(i<4) deep(i+1); printf("%d\n",i); return 0; }
