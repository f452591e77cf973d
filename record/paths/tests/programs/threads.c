#include <pthread.h>
void* f(void*p){ return p; }
int main(void){ pthread_t t; pthread_create(&t,0,f,0); pthread_join(t,0); return 0; }
