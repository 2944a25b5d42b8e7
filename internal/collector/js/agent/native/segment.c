// The part of the agent that JavaScript cannot do: a segment file as memory, so that an event costs no system call
// and is there even when the process is killed at the next instruction.
//
// No libc and no headers of Node: the file is loaded by programs with glibc and with musl. Node-API is stable over
// versions; its functions are the program's own symbols. A call that fails returns -1 or an errno below zero.
typedef unsigned long u64;
typedef long i64;
typedef unsigned int u32;
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);

extern int napi_create_function(napi_env, const char *, u64, napi_callback, void *, napi_value *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
extern int napi_get_cb_info(napi_env, napi_callback_info, u64 *, napi_value *, napi_value *, void **);
extern int napi_get_value_string_utf8(napi_env, napi_value, char *, u64, u64 *);
extern int napi_get_value_int64(napi_env, napi_value, i64 *);
extern int napi_create_int64(napi_env, i64, napi_value *);
extern int napi_create_external_arraybuffer(napi_env, void *, u64, void (*)(napi_env, void *, void *), void *,
                                            napi_value *);

enum { sysSocket = 41, sysConnect = 42, sysMmap = 9, sysMunmap = 11, sysPwrite = 18, sysGettid = 186, sysOpen = 2,
       sysClose = 3,
       sysRename = 82,
       sysUnlink = 87, sysFallocate = 285, sysClockGettime = 228 };
enum { protRead = 1, protWrite = 2, mapShared = 1, mapPrivate = 2, mapFixed = 16,
       mapAnonymous = 32, mapPopulate = 0x8000 };
enum { maxPath = 4096 };

static i64 call(i64 n, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
  i64 result;
  register i64 r10 __asm__("r10") = d;
  register i64 r8 __asm__("r8") = e;
  register i64 r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static napi_value number(napi_env env, i64 n) {
  napi_value v = 0;
  napi_create_int64(env, n, &v);
  return v;
}

static i64 argument(napi_env env, napi_value v) {
  i64 n = 0;
  napi_get_value_int64(env, v, &n);
  return n;
}

static void unmap(napi_env env, void *data, void *size) {
  (void)env;
  call(sysMunmap, (i64)data, (i64)size, 0, 0, 0, 0);
}

// window(size) gives an ArrayBuffer of private memory. Segments are mapped over it one after the other, so that the
// script's views of it stay the same and no segment waits for a garbage collection to be let go.
static napi_value window(napi_env env, napi_callback_info info) {
  u64 n = 1;
  napi_value v[1] = {0}, buffer = 0;
  napi_get_cb_info(env, info, &n, v, 0, 0);
  i64 size = argument(env, v[0]);
  i64 at = call(sysMmap, 0, size, protRead | protWrite, mapPrivate | mapAnonymous, -1, 0);
  if (at < 0 && at > -4096) return number(env, at);
  if (napi_create_external_arraybuffer(env, (void *)at, size, unmap, (void *)size, &buffer) != 0) {
    call(sysMunmap, at, size, 0, 0, 0, 0);
    return number(env, -1);
  }
  napi_value address = number(env, at);
  napi_set_named_property(env, buffer, "address", address);
  return buffer;
}

// create(temporary, path, size) makes a segment and gives its descriptor. The file has its name only once its header
// stands, and all its room: a write to a mapping that finds none left would be a SIGBUS.
static napi_value create(napi_env env, napi_callback_info info) {
  u64 n = 3, length = 0;
  napi_value v[3] = {0};
  char temporary[maxPath], path[maxPath];
  napi_get_cb_info(env, info, &n, v, 0, 0);
  if (napi_get_value_string_utf8(env, v[0], temporary, maxPath, &length) != 0) return number(env, -1);
  if (napi_get_value_string_utf8(env, v[1], path, maxPath, &length) != 0) return number(env, -1);
  i64 size = argument(env, v[2]);
  // O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
  i64 fd = call(sysOpen, (i64)temporary, 02 | 0100 | 0200 | 02000000, 0600, 0, 0, 0);
  if (fd < 0) return number(env, fd);
  struct { char magic[8]; u32 size, zero; } header = {{'s', 't', 'r', 'o', 'b', 'e', '1', '\n'}, (u32)size, 0};
  i64 result = call(sysFallocate, fd, 0, 0, size, 0, 0);
  if (result == 0 && call(sysPwrite, fd, (i64)&header, sizeof header, 0, 0, 0) != sizeof header) result = -1;
  if (result == 0) result = call(sysRename, (i64)temporary, (i64)path, 0, 0, 0, 0);
  if (result != 0) {
    call(sysUnlink, (i64)temporary, 0, 0, 0, 0, 0);
    call(sysClose, fd, 0, 0, 0, 0, 0);
    return number(env, result < 0 ? result : -1);
  }
  return number(env, fd);
}

// map(address, fd, size) puts a segment in the window's place, and closes its descriptor.
static napi_value map(napi_env env, napi_callback_info info) {
  u64 n = 3;
  napi_value v[3] = {0};
  napi_get_cb_info(env, info, &n, v, 0, 0);
  i64 address = argument(env, v[0]), fd = argument(env, v[1]), size = argument(env, v[2]);
  i64 at = call(sysMmap, address, size, protRead | protWrite, mapShared | mapFixed | mapPopulate, fd, 0);
  call(sysClose, fd, 0, 0, 0, 0, 0);
  return number(env, at == address ? 0 : at);
}

// connect(path) gives a connection to a Unix socket, by which the first thread says hello before the control thread is
// up.
static napi_value connect_to(napi_env env, napi_callback_info info) {
  u64 n = 1, length = 0;
  napi_value v[1] = {0};
  struct { unsigned short family; char path[108]; } address = {1, {0}};
  napi_get_cb_info(env, info, &n, v, 0, 0);
  char path[maxPath];
  if (napi_get_value_string_utf8(env, v[0], path, maxPath, &length) != 0 ||
      length >= sizeof address.path) return number(env, -1);
  for (u64 i = 0; i < length; i++) address.path[i] = path[i];
  // AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC
  i64 fd = call(sysSocket, 1, 1 | 02000000, 0, 0, 0, 0);
  if (fd < 0) return number(env, fd);
  i64 result = call(sysConnect, fd, (i64)&address, sizeof address, 0, 0, 0);
  if (result != 0) {
    call(sysClose, fd, 0, 0, 0, 0, 0);
    return number(env, result);
  }
  return number(env, fd);
}

// now() is CLOCK_MONOTONIC in nanoseconds: what runtimes call so begins at the process's start in some.
static napi_value now(napi_env env, napi_callback_info info) {
  (void)info;
  i64 time[2] = {0, 0};
  call(sysClockGettime, 1, (i64)time, 0, 0, 0, 0);
  return number(env, time[0] * 1000000000 + time[1]);
}

// tid() is the kernel's number of the calling thread.
static napi_value tid(napi_env env, napi_callback_info info) {
  (void)info;
  return number(env, call(sysGettid, 0, 0, 0, 0, 0, 0));
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  static const struct { const char *name; napi_callback function; } functions[] = {
    {"window", window}, {"create", create}, {"map", map}, {"connect", connect_to}, {"now", now}, {"tid", tid}};
  for (u64 i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value f = 0;
    napi_create_function(env, functions[i].name, ~0UL, functions[i].function, 0, &f);
    napi_set_named_property(env, exports, functions[i].name, f);
  }
  return exports;
}
