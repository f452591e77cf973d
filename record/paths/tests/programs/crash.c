#include <stdlib.h>
int f(int*p,int k){ return k? f(p,k-1): *p; }
int main(int c,char**v){ return f(c>1?&c:(int*)0,3); }
