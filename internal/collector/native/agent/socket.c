// Sockets: what the program's system calls do to them, and what it gives TLS libraries to send. A probe stands behind
// the system calls, with the arguments still in their registers, and one before most of them, which notes the time.
#include "agent.h"

enum { EAGAIN = 11, EINPROGRESS = 115, F_DUPFD = 0, F_DUPFD_CLOEXEC = 1030 };

// The system calls, by number.
enum { N_read = 0, N_write = 1, N_close = 3, N_readv = 19, N_writev = 20, N_dup = 32, N_dup2 = 33, N_sendfile = 40,
	N_socket = 41, N_connect = 42, N_accept = 43, N_sendto = 44, N_recvfrom = 45, N_sendmsg = 46, N_recvmsg = 47,
	N_shutdown = 48, N_bind = 49, N_listen = 50, N_socketpair = 53, N_fcntl = 72, N_splice = 275, N_accept4 = 288,
	N_dup3 = 292, N_recvmmsg = 299, N_sendmmsg = 307 };

// told is one record on its way.
struct told {
	struct strobe_socket s;
	u8 local[STROBE_MAX_SOCK_ADDR], peer[STROBE_MAX_SOCK_ADDR];
	u32 kind; // of what is sent: STROBE_WRITE_BYTES (0) or STROBE_WRITE_VECTOR
	u64 src, count, n;
};

static void set_fd(u64 fd, u8 what) {
	if (fd < STROBE_SOCKET_FDS) CONTROL->socketfd[fd] = what;
}

// is_socket tells whether a descriptor is a socket; fresh is set where the kernel had to be asked.
static u32 is_socket(u64 fd, u8 *fresh) {
	struct strobe_control *c = CONTROL;
	if (fd < STROBE_SOCKET_FDS && c->socketfd[fd]) return c->socketfd[fd] == STROBE_FD_SOCKET;
	if (c->flags & STROBE_FLAG_QUIET) return 0;
	u64 st[18]; // struct stat: the mode is the first half of the fourth word
	if (sys(SYS_fstat, (long)fd, (long)st, 0, 0) < 0) return 0;
	u32 is = ((u32)st[3] & 0170000) == 0140000;
	set_fd(fd, is ? STROBE_FD_SOCKET : STROBE_FD_OTHER);
	*fresh = is && fd < STROBE_SOCKET_FDS;
	return is;
}

// given copies an address that the program gave or was given.
static u8 given(u8 *to, u64 addr, u64 n) {
	n &= 0xffffffff;
	if (!addr || !n || n > 128) return 0;
	if (n > STROBE_MAX_SOCK_ADDR) n = STROBE_MAX_SOCK_ADDR;
	return safe_copy(to, (const void *)addr, n) ? 0 : (u8)n;
}

// asked asks the kernel for an address of a socket.
static u8 asked(u8 *to, long nr, u64 fd) {
	if (CONTROL->flags & STROBE_FLAG_QUIET) return 0;
	u8 b[128];
	u32 n = sizeof b;
	if (sys(nr, (long)fd, (long)b, (long)&n, 0) < 0) return 0;
	if (n > STROBE_MAX_SOCK_ADDR) n = STROBE_MAX_SOCK_ADDR;
	for (u32 i = 0; i < n; i++) to[i] = b[i];
	return (u8)n;
}

static void both(struct told *w, u64 fd) {
	w->s.local = asked(w->local, SYS_getsockname, fd);
	w->s.peer = asked(w->peer, SYS_getpeername, fd);
}

static inline u64 up8(u64 n) { return (n + 7) & ~7ull; }

// is_frame tells whether bytes may be the head of a frame of HTTP/2. first: nothing tells that there are frames.
static inline u32 is_frame(const u8 *b, u32 first) {
	u32 stream = (u32)b[5] << 24 | (u32)b[6] << 16 | (u32)b[7] << 8 | b[8];
	if (stream >> 31) return 0;
	if (!first) return b[3] < 32;
	return b[3] <= 9 && !b[0] && !(b[4] & ~0x2d) && (b[3] > 1 || stream);
}

// frames copies the frames that lie behind the first raw bytes of a message, as far as they are recorded.
static u64 frames(u8 *to, const struct told *w, u64 raw) {
	u8 b[24];
	u64 pos = 0, got = 0;
	if (piece(b, w->kind, w->src, w->count, 0, 24) == 24 && b[0] == 'P' && b[1] == 'R' && b[2] == 'I' && b[3] == ' ' &&
		b[4] == '*') {
		pos = 24;
	}
	for (u32 i = 0; i < STROBE_MAX_FRAME_COUNT && pos < w->n; i++) {
		u64 end = pos + 9 < w->n ? pos + 9 : w->n, from = pos > raw ? pos : raw; // a head may be cut off
		if (piece(b, w->kind, w->src, w->count, pos, end - pos) != end - pos) break;
		pos += 9;
		if (end == pos) {
			if (!is_frame(b, i == 0)) break;
			u64 len = (u64)b[0] << 16 | (u64)b[1] << 8 | b[2];
			pos += len;
			if (STROBE_FRAME_KINDS >> b[3] & 1) end = pos < w->n ? pos : w->n;
		}
		if (end <= from) continue;
		if (got + (end - from) > STROBE_MAX_FRAMES ||
			piece(to + got, w->kind, w->src, w->count, from, end - from) != end - from) {
			break;
		}
		got += end - from;
	}
	return got;
}

static void put(struct strobe_header *t, struct told *w, u32 id, u64 at, u64 frame) {
	u64 head, n = w->n < CONTROL->sockethead ? w->n : CONTROL->sockethead;
	if (!w->src) n = 0;
	u64 need = STROBE_RECORD_BYTES + sizeof w->s + up8(w->s.local) + up8(w->s.peer) + up8(n);
	u64 more = n && n < w->n ? STROBE_MAX_FRAMES : 0;
	struct strobe_record *rec = reserve_record(t, &head, need + more, id);
	if (!rec) return;
	u8 *to = (u8 *)(rec + 1);
	struct strobe_socket *s = (struct strobe_socket *)to;
	to += sizeof *s;
	for (u32 i = 0; i < w->s.local; i++) to[i] = w->local[i];
	to += up8(w->s.local);
	for (u32 i = 0; i < w->s.peer; i++) to[i] = w->peer[i];
	to += up8(w->s.peer);
	w->s.head = n ? (u32)piece(to, w->kind, w->src, w->count, 0, n) : 0;
	w->s.frames = more && w->s.head == n ? (u32)frames(to + up8(n), w, n) : 0;
	need += up8(w->s.frames);
	*s = w->s;
	rec->tsc = at;
	rec->hook = id;
	rec->size8 = (u16)(need / 8);
	rec->kind = STROBE_REC_SOCKET;
	rec->flags = 0;
	rec->sp = frame;
	publish_output(t, head + need);
}

// message takes what a struct msghdr says.
static void message(struct told *w, u64 hdr) {
	u64 m[4]; // name, its length, vector, its length
	if (safe_copy(m, (const void *)hdr, sizeof m)) return;
	if (m[0]) w->s.peer = given(w->peer, m[0], m[1]);
	w->kind = STROBE_WRITE_VECTOR;
	w->src = m[2];
	w->count = m[3];
}

// messages puts a record for each of those that sendmmsg or recvmmsg took.
static void messages(struct strobe_header *t, struct told *w, u32 id, u64 at, u64 frame, u64 vec) {
	u64 n = (u64)w->s.result;
	for (u32 i = 0; i < n && i < 1024; i++) {
		loadres len = safe_load((const void *)(vec + i * 64ull + 56));
		if (len.fault) return;
		w->src = 0;
		w->s.peer = 0;
		message(w, vec + i * 64ull);
		w->n = len.word & 0xffffffff;
		w->s.result = (long)w->n;
		w->s.part = i + 1;
		put(t, w, id, at, frame);
		w->s.local = 0;
		w->s.fresh = 0;
	}
}

// duplicate notes that a descriptor is another now. It reports whether that is to be told.
static u32 duplicate(u64 old, u64 fresh) {
	u32 was = fresh < STROBE_SOCKET_FDS && CONTROL->socketfd[fresh] == STROBE_FD_SOCKET;
	u32 is = old < STROBE_SOCKET_FDS ? CONTROL->socketfd[old] : STROBE_FD_UNKNOWN;
	set_fd(fresh, (u8)is);
	return was || is == STROBE_FD_SOCKET;
}

// moved looks at a call that sent or received. It reports whether that is to be told.
static u32 moved(struct told *w, u64 nr, const u64 *r) {
	u64 fd = r[5];
	long n = w->s.result;
	if (n == -EAGAIN) return 0;
	if (nr == N_splice) {
		if (!is_socket(r[1], &w->s.fresh)) {
			if (!is_socket(fd, &w->s.fresh)) return 0;
		} else {
			fd = r[1];
		}
		w->s.args[1] = fd == r[5]; // 1: from it
		w->s.args[0] = fd;
	} else if ((nr <= N_sendfile || fd >= STROBE_SOCKET_FDS || CONTROL->socketfd[fd] != STROBE_FD_SOCKET) &&
		!is_socket(fd, &w->s.fresh)) {
		return 0;
	}
	if (w->s.fresh) both(w, fd);
	w->n = n > 0 ? (u64)n : 0;
	switch (nr) {
	case N_sendto: case N_recvfrom:
		w->src = r[4];
		if (r[8] && nr == N_sendto) w->s.peer = given(w->peer, r[8], r[9]);
		if (r[8] && r[9] && nr == N_recvfrom && n >= 0) {
			loadres len = safe_load((const void *)r[9]);
			if (!len.fault) w->s.peer = given(w->peer, r[8], len.word);
		}
		break;
	case N_sendmsg: case N_recvmsg:
		message(w, r[4]);
		break;
	case N_readv: case N_writev:
		w->kind = STROBE_WRITE_VECTOR;
		w->src = r[4];
		w->count = r[1];
		break;
	case N_read: case N_write:
		w->src = r[4];
	}
	return 1;
}

// changed looks at a call that makes, connects or ends sockets. It reports whether that is to be told.
static u32 changed(struct told *w, u64 nr, const u64 *r) {
	long n = w->s.result;
	u64 fd = r[5];
	switch (nr) {
	case N_socket:
		if (n >= 0) set_fd((u64)n, STROBE_FD_SOCKET);
		return 1;
	case N_socketpair: {
		loadres two = safe_load((const void *)r[10]);
		if (n < 0 || two.fault) return 0;
		set_fd(two.word & 0xffffffff, STROBE_FD_SOCKET);
		set_fd(two.word >> 32, STROBE_FD_SOCKET);
		w->s.args[3] = two.word;
		return 1;
	}
	case N_connect:
		w->s.peer = given(w->peer, r[4], r[1]);
		if (n == 0 || n == -EINPROGRESS) w->s.local = asked(w->local, SYS_getsockname, fd);
		return 1;
	case N_accept: case N_accept4:
		if (n == -EAGAIN) return 0;
		if (n >= 0) {
			set_fd((u64)n, STROBE_FD_SOCKET);
			both(w, (u64)n);
		}
		return 1;
	case N_bind:
		w->s.local = n == 0 ? asked(w->local, SYS_getsockname, fd) : given(w->local, r[4], r[1]);
		return 1;
	case N_listen:
		w->s.local = asked(w->local, SYS_getsockname, fd);
		return 1;
	case N_shutdown:
		return 1;
	case N_close: {
		u32 was = fd < STROBE_SOCKET_FDS && CONTROL->socketfd[fd] == STROBE_FD_SOCKET;
		set_fd(fd, STROBE_FD_UNKNOWN);
		return was;
	}
	case N_dup: return n >= 0 && duplicate(fd, (u64)n);
	case N_dup2: case N_dup3: return n >= 0 && duplicate(fd, r[4]);
	case N_fcntl: return n >= 0 && (r[4] == F_DUPFD || r[4] == F_DUPFD_CLOEXEC) && duplicate(fd, (u64)n);
	}
	return 0;
}

static inline u32 moves(u64 nr) {
	return nr == N_read || nr == N_write || nr == N_readv || nr == N_writev || nr == N_sendfile ||
		(nr >= N_sendto && nr <= N_recvmsg) || nr == N_splice || nr == N_recvmmsg || nr == N_sendmmsg;
}

void socket_call(const u64 *r, u32 id, u64 nr) {
	const struct strobe_hook *h = &HOOKS[id & (STROBE_MAX_HOOKS - 1)];
	struct strobe_header *t = self_slow();
	if (!t) return;
	u64 at = now(), from = t->callsp == r[7] && !(h->flags & STROBE_HOOK_GO) ? t->calltsc : 0;
	t->callsp = 0;
	struct told w;
	w.s = (struct strobe_socket){.nr = (u32)nr, .from = from, .result = (long)r[0], .args = {r[5], r[4], r[1], r[10]}};
	w.kind = 0;
	w.src = w.count = w.n = 0;
	u32 moved_some = moves(nr);
	if (!moved_some && nr == N_socketpair && w.s.result < 0) return;
	if (!(moved_some ? moved(&w, nr, r) : changed(&w, nr, r))) return;
	u64 frame = h->flags & STROBE_HOOK_GO ? go_place(r) : r[7];
	if ((nr == N_recvmmsg || nr == N_sendmmsg) && w.s.result > 0) messages(t, &w, id, at, frame, r[4]);
	else put(t, &w, id, at, frame);
}

void tls_call(struct strobe_header *t, const u64 *r, u32 id, u64 frame, u64 ret) {
	struct told w;
	u32 nr = HOOKS[id].hot;
	w.s = (struct strobe_socket){.nr = nr, .from = r[4], .result = (int)ret, .args = {r[0], r[1], r[2], r[3]}};
	if (w.s.result <= 0) return;
	if (nr >= STROBE_TLS_WRITE_EX) {
		loadres done = safe_load((const void *)r[3]);
		if (done.fault) return;
		w.s.result = (long)done.word;
	}
	w.kind = 0;
	w.count = 0;
	w.src = r[1];
	w.n = (u64)w.s.result;
	put(t, &w, id, now(), frame);
}
