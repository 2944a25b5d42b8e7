// A client of JACK for the channel midi: a process of its own, since Strobe is a static binary and JACK is reached by a
// library only, which talks to its server in ways of its own. It has two MIDI ports, in and out.
//
// Usage: jack NAME LIBRARY… ; the first library that loads is used.
// On stdin and stdout are frames: a byte that says what it is, four bytes of length (little-endian), the payload.
//   in:  'm' a message to send; 'c' two ports' names, each with its zero, to connect. End of input ends us.
//   out: 'r' ready, the client's name; 'm' eight bytes of time (CLOCK_MONOTONIC, ns) and a message; 'p' the MIDI ports,
//        a line each: name, tab, flags, tab, process or 0; 'k' what was connected carries messages; 'l' messages that
//        were lost (four bytes); 'e' why we end.
//
// The process callback runs in JACK's thread under its deadline: it takes no lock, allocates nothing, and tells the
// main thread by an eventfd. Both directions have a ring with one writer and one reader.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define RING (1u << 18) // bytes of each ring: 10,000 short messages, or a large sysex
#define HEAD 12         // of a ring's record: length and time
#define MIDI_TYPE "8 bit raw midi"
enum { IS_INPUT = 1, IS_OUTPUT = 2, NO_START = 1, PORTS_EVERY_MS = 100 };
// A connection that was made carries nothing for some periods more: PipeWire's servers make it work by and by.
enum { SETTLE = 10 };

struct midi_event {
	uint32_t time;
	size_t size;
	unsigned char *buffer;
};

static struct {
	void *(*client_open)(const char *, int, int *, ...);
	char *(*get_client_name)(void *);
	void *(*port_register)(void *, const char *, const char *, unsigned long, unsigned long);
	int (*set_process_callback)(void *, int (*)(uint32_t, void *), void *);
	void (*on_shutdown)(void *, void (*)(void *), void *);
	int (*activate)(void *);
	void *(*port_get_buffer)(void *, uint32_t);
	uint32_t (*midi_get_event_count)(void *);
	int (*midi_event_get)(struct midi_event *, void *, uint32_t);
	void (*midi_clear_buffer)(void *);
	int (*midi_event_write)(void *, uint32_t, const unsigned char *, size_t);
	const char **(*get_ports)(void *, const char *, const char *, unsigned long);
	void *(*port_by_name)(void *, const char *);
	int (*port_flags)(void *);
	int (*connect)(void *, const char *, const char *);
	uint32_t (*get_sample_rate)(void *);
	int (*client_close)(void *);
	void (*free)(void *);
	int (*get_client_pid)(const char *); // not in every library
} j;

static const struct {
	const char *name;
	void *at;
} symbols[] = {
    {"jack_client_open", &j.client_open},
    {"jack_get_client_name", &j.get_client_name},
    {"jack_port_register", &j.port_register},
    {"jack_set_process_callback", &j.set_process_callback},
    {"jack_on_shutdown", &j.on_shutdown},
    {"jack_activate", &j.activate},
    {"jack_port_get_buffer", &j.port_get_buffer},
    {"jack_midi_get_event_count", &j.midi_get_event_count},
    {"jack_midi_event_get", &j.midi_event_get},
    {"jack_midi_clear_buffer", &j.midi_clear_buffer},
    {"jack_midi_event_write", &j.midi_event_write},
    {"jack_get_ports", &j.get_ports},
    {"jack_port_by_name", &j.port_by_name},
    {"jack_port_flags", &j.port_flags},
    {"jack_connect", &j.connect},
    {"jack_get_sample_rate", &j.get_sample_rate},
    {"jack_client_close", &j.client_close},
    {"jack_free", &j.free},
};

// A ring of records: length (4), time (8), bytes.
struct ring {
	_Atomic uint32_t head, tail; // written, read; they count on and wrap
	unsigned char bytes[RING];
};

static struct ring heard, due;
static _Atomic uint32_t lost, down, periods;
static uint32_t linked; // at which period the last connection was made
static int settling;
static void *client, *in, *out;
static int wake;
static uint32_t rate;

static void copy_in(struct ring *r, uint32_t at, const void *from, uint32_t n)
{
	const unsigned char *b = from;
	for (uint32_t i = 0; i < n; i++)
		r->bytes[(at + i) % RING] = b[i];
}

static void copy_out(struct ring *r, uint32_t at, void *to, uint32_t n)
{
	unsigned char *b = to;
	for (uint32_t i = 0; i < n; i++)
		b[i] = r->bytes[(at + i) % RING];
}

static int put(struct ring *r, uint64_t at, const void *b, uint32_t n)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (n > RING - HEAD || RING - (head - tail) < HEAD + n)
		return 0;
	copy_in(r, head, &n, 4);
	copy_in(r, head + 4, &at, 8);
	copy_in(r, head + HEAD, b, n);
	atomic_store_explicit(&r->head, head + HEAD + n, memory_order_release);
	return 1;
}

// The next record's length, 0 if there is none; it stays until it is dropped.
static uint32_t peek(struct ring *r, uint64_t *at, unsigned char *b)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed), n;
	if (atomic_load_explicit(&r->head, memory_order_acquire) == tail)
		return 0;
	copy_out(r, tail, &n, 4);
	copy_out(r, tail + 4, at, 8);
	copy_out(r, tail + HEAD, b, n);
	return n;
}

static void drop(struct ring *r, uint32_t n)
{
	atomic_fetch_add_explicit(&r->tail, HEAD + n, memory_order_release);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nudge(void)
{
	uint64_t one = 1;
	if (write(wake, &one, 8) < 0)
		return; // it is at its largest: the main thread has been told
}

// process is called for each period. What came in the last one is stamped back from now.
static int process(uint32_t frames, void *arg)
{
	static unsigned char b[RING];
	uint64_t began = now(), at;
	void *from = j.port_get_buffer(in, frames), *to = j.port_get_buffer(out, frames);
	uint32_t count = j.midi_get_event_count(from), n;
	struct midi_event e;
	for (uint32_t i = 0; i < count; i++) {
		if (j.midi_event_get(&e, from, i) != 0)
			continue;
		uint64_t before = (uint64_t)(frames - (e.time < frames ? e.time : frames)) * 1000000000u / (rate ? rate : 48000);
		if (!put(&heard, began - before, e.buffer, (uint32_t)e.size))
			atomic_fetch_add(&lost, 1);
	}
	if (count)
		nudge();
	atomic_fetch_add_explicit(&periods, 1, memory_order_relaxed);
	j.midi_clear_buffer(to);
	for (int first = 1; (n = peek(&due, &at, b)) != 0; first = 0) {
		if (j.midi_event_write(to, 0, b, n) != 0) {
			if (!first)
				break; // the period is full: in the next one
			atomic_fetch_add(&lost, 1); // it never fits
		}
		drop(&due, n);
	}
	(void)arg;
	return 0;
}

static void on_shutdown(void *arg)
{
	(void)arg;
	atomic_store(&down, 1);
	nudge();
}

static void all(const void *from, size_t n)
{
	for (const char *b = from; n > 0;) {
		ssize_t k = write(1, b, n);
		if (k <= 0)
			_exit(1); // nobody reads us
		b += k;
		n -= (size_t)k;
	}
}

static void tell(char kind, const void *b, uint32_t n)
{
	unsigned char head[5] = {(unsigned char)kind};
	memcpy(head + 1, &n, 4);
	all(head, 5);
	all(b, n);
}

static int fail(const char *why)
{
	tell('e', why, (uint32_t)strlen(why));
	return 1;
}

// ports tells the MIDI ports when they are not what they were.
static void ports(void)
{
	static char *last;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	const char **names = j.get_ports(client, NULL, MIDI_TYPE, 0);
	for (int i = 0; f && names && names[i]; i++) {
		void *p = j.port_by_name(client, names[i]);
		char owner[256];
		snprintf(owner, sizeof owner, "%.*s", (int)strcspn(names[i], ":"), names[i]);
		fprintf(f, "%s\t%d\t%d\n", names[i], p ? j.port_flags(p) : 0, j.get_client_pid ? j.get_client_pid(owner) : 0);
	}
	if (names)
		j.free(names);
	if (!f || fclose(f) != 0)
		return;
	if (last && strcmp(last, text) == 0) {
		free(text);
		return;
	}
	tell('p', text, (uint32_t)size);
	free(last);
	last = text;
}

static int take(void *b, size_t n)
{
	for (char *to = b; n > 0;) {
		ssize_t k = read(0, to, n);
		if (k <= 0)
			return 0;
		to += k;
		n -= (size_t)k;
	}
	return 1;
}

// command reads one frame; 0: there are no more.
static int command(void)
{
	static unsigned char b[RING];
	unsigned char head[5];
	uint32_t n;
	if (!take(head, 5))
		return 0;
	memcpy(&n, head + 1, 4);
	if (n >= RING || !take(b, n))
		return 0;
	b[n] = 0;
	if (head[0] == 'm') {
		for (int i = 0; n > 0 && !put(&due, 0, b, n); i++) {
			if (i == 1000) { // a second: nothing takes it
				atomic_fetch_add(&lost, 1);
				break;
			}
			usleep(1000);
		}
	} else if (head[0] == 'c') {
		size_t first = strlen((char *)b) + 1;
		if (first < n) {
			j.connect(client, (char *)b, (char *)b + first);
			linked = atomic_load(&periods);
			settling = 1;
		}
	}
	return 1;
}

static void *load(int n, char **names)
{
	for (int i = 0; i < n; i++) {
		void *lib = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
		if (lib)
			return lib;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static unsigned char b[8 + RING];
	void *lib = argc > 2 ? load(argc - 2, argv + 2) : NULL;
	if (!lib)
		return fail("no JACK library can be loaded");
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *p = dlsym(lib, symbols[i].name);
		if (!p)
			return fail(symbols[i].name);
		memcpy(symbols[i].at, &p, sizeof p);
	}
	void *p = dlsym(lib, "jack_get_client_pid");
	memcpy(&j.get_client_pid, &p, sizeof p);
	int status = 0;
	if (!(client = j.client_open(argv[1], NO_START, &status)))
		return fail("no JACK server runs");
	wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rate = j.get_sample_rate(client);
	in = j.port_register(client, "in", MIDI_TYPE, IS_INPUT, 0);
	out = j.port_register(client, "out", MIDI_TYPE, IS_OUTPUT, 0);
	if (wake < 0 || !in || !out || j.set_process_callback(client, process, NULL) != 0)
		return fail("the JACK server gives no MIDI ports");
	j.on_shutdown(client, on_shutdown, NULL);
	if (j.activate(client) != 0)
		return fail("the JACK server does not let us begin");
	const char *name = j.get_client_name(client);
	tell('r', name, (uint32_t)strlen(name));
	uint64_t listed = 0;
	for (;;) {
		struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
		poll(fds, 2, PORTS_EVERY_MS);
		if (fds[1].revents && read(wake, b, 8) < 0)
			continue;
		uint64_t at;
		for (uint32_t n; (n = peek(&heard, &at, b + 8)) != 0; drop(&heard, n)) {
			memcpy(b, &at, 8);
			tell('m', b, 8 + n);
		}
		uint32_t gone = atomic_exchange(&lost, 0);
		if (gone)
			tell('l', &gone, 4);
		if (atomic_load(&down))
			return fail("the JACK server has ended");
		if (fds[0].revents && !command())
			break;
		if (settling && atomic_load(&periods) - linked >= SETTLE) {
			settling = 0;
			tell('k', "", 0);
		}
		if (now() - listed > PORTS_EVERY_MS * 1000000ull) {
			ports();
			listed = now();
		}
	}
	j.client_close(client);
	return 0;
}
