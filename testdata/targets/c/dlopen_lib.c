// Loaded by dlopen.c; has a constructor, a destructor, thread-local data and a function that calls back.
static __thread int tls = 5;
static int loaded;
extern int lib_report(int);

__attribute__((constructor)) static void on_load(void) { loaded = 40; }
__attribute__((destructor)) static void on_unload(void) { loaded = 0; }

__attribute__((noinline)) int lib_inner(int x) { return x + tls++; }
int lib_call(int x) { return lib_inner(x) * 2 + loaded; }
int lib_back(int (*f)(int), int x) { return f(lib_inner(x)); }
