// A library that is loaded and unloaded. NAME is the name of its function.
static __attribute__((noinline)) int NAME(int n) { return n + 1; }
void plugin(void) { NAME(1); }
