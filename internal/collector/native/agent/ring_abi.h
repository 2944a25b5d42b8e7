// Code generated from internal/ring by make generate. DO NOT EDIT.
#pragma once

#define STROBE_MAGIC 0x65626f7274530001
#define STROBE_VERSION 0x1
#define STROBE_CODE_BYTES 0xc000
#define STROBE_CONTROL_OFF 0xc000
#define STROBE_HOOKS_OFF 0x14000
#define STROBE_MAX_HOOKS 0x40000
#define STROBE_OPS_OFF 0x814000
#define STROBE_THREADS_OFF 0x1854000
#define STROBE_THREAD_SLOTS 0x2000
#define STROBE_STATES_OFF 0x1874000
#define STROBE_RINGS_OFF 0x4110000
#define STROBE_HEADER_BYTES 0xb000
#define STROBE_RECORD_BYTES 0x18
#define STROBE_OBJ_BYTES 0x40
#define STROBE_MAX_UNWIND 0x8
#define STROBE_REC_ENTER 0x1
#define STROBE_REC_EXIT 0x2
#define STROBE_REC_DROPPED 0x3
#define STROBE_REC_PAD 0x4
#define STROBE_REC_TAIL 0x1
#define STROBE_TAIL_ID 0x40000000
#define STROBE_REC_TRUNCATED 0x2
#define STROBE_RING_FREE 0x0
#define STROBE_RING_USED 0x1
#define STROBE_FLAG_BLOCK 0x1
#define STROBE_FLAG_FSGS 0x2
#define STROBE_FLAG_TSC 0x4
#define STROBE_HOOK_SYNC 0x1
#define STROBE_HOOK_UNWIND 0x2
#define STROBE_HOOK_FIND_FDE 0x8
#define STROBE_FLAG_SHADOW 0x8
#define STROBE_FLAG_FS0 0x10
#define STROBE_FLAG_BY_TID 0x20
#define STROBE_HOOK_LEAVE 0x4
#define STROBE_HOOK_OUTPUT 0x80
#define STROBE_REC_OUTPUT 0x7
#define STROBE_OUTPUT_CHUNK 0x4000
#define STROBE_OUTPUT_CHUNKS 0x20
#define STROBE_OP_END 0x0
#define STROBE_OP_REG 0x1
#define STROBE_OP_XMM 0x2
#define STROBE_OP_STACK 0x3
#define STROBE_OP_ST0 0x4
#define STROBE_OP_ROOT 0x5
#define STROBE_OP_GATHER 0x6
#define STROBE_OP_EVAL 0x7
#define STROBE_OP_SAVE 0x8
#define STROBE_OP_SAVED 0x9
#define STROBE_OP_WIPE 0xa
#define STROBE_WALK_WIPE 0x27
#define STROBE_WALK_WIPES 0x40000000
#define STROBE_REC_SAMPLED 0x4
#define STROBE_WALK_LOAD 0x10
#define STROBE_WALK_LOADMEM 0x11
#define STROBE_WALK_CONST 0x12
#define STROBE_WALK_ALU 0x13
#define STROBE_WALK_ALUIMM 0x14
#define STROBE_WALK_JUMP 0x15
#define STROBE_WALK_JUMPZERO 0x16
#define STROBE_WALK_JUMPNOT 0x17
#define STROBE_WALK_NODE 0x18
#define STROBE_WALK_TEXT 0x19
#define STROBE_WALK_OPEN 0x1a
#define STROBE_WALK_PUSH 0x1b
#define STROBE_WALK_CLOSE 0x1c
#define STROBE_WALK_SUB 0x1d
#define STROBE_WALK_ADDR 0x1e
#define STROBE_WALK_OUT 0x1f
#define STROBE_WALK_FS 0x20
#define STROBE_WALK_REG 0x21
#define STROBE_WALK_CFA 0x22
#define STROBE_WALK_INFO 0x23
#define STROBE_WALK_FOLLOW 0x24
#define STROBE_WALK_BETWEEN 0x25
#define STROBE_WALK_SPAN 0x26
#define STROBE_FOLLOW_DEEPER 0x10000
#define STROBE_FOLLOW_TEXT 0x20000
#define STROBE_WALK_ENDS 0x80000000
#define STROBE_NO_REG 0xff
#define STROBE_ALU_ADD 0x0
#define STROBE_ALU_SUB 0x1
#define STROBE_ALU_MUL 0x2
#define STROBE_ALU_UDIV 0x3
#define STROBE_ALU_SDIV 0x4
#define STROBE_ALU_UREM 0x5
#define STROBE_ALU_SREM 0x6
#define STROBE_ALU_AND 0x7
#define STROBE_ALU_OR 0x8
#define STROBE_ALU_XOR 0x9
#define STROBE_ALU_SHL 0xa
#define STROBE_ALU_SHR 0xb
#define STROBE_ALU_SAR 0xc
#define STROBE_ALU_EQ 0xd
#define STROBE_ALU_NE 0xe
#define STROBE_ALU_ULT 0xf
#define STROBE_ALU_SLT 0x10
#define STROBE_ALU_ULE 0x11
#define STROBE_ALU_SLE 0x12
#define STROBE_WALKS_OFF 0x1814000
#define STROBE_MAX_WALKS 0x10000
#define STROBE_MAX_OPS 0x100000
#define STROBE_MAX_NODES 0x3e8
#define STROBE_MAX_STEPS 0x4e20
#define STROBE_NODE_BYTES 0x10
#define STROBE_POINTS_OFF 0x1878000
#define STROBE_MAX_POINTS 0x400
#define STROBE_POINT_SHARDS 0x10
#define STROBE_REC_POINT 0x5
#define STROBE_REC_FAILED 0x6
#define STROBE_HOOK_POINT 0x10
#define STROBE_HOOK_PAUSE 0x20
#define STROBE_HOOK_OFF 0x40
#define STROBE_REC_WROTE 0x8
#define STROBE_WROTE_PRINT 0x20
#define STROBE_WRITE_VECTOR 0x1
#define STROBE_WRITE_FILE 0x2
#define STROBE_WRITE_SPLICE 0x3
#define STROBE_WRITE_TEE 0x4
#define STROBE_SPARE_BYTES 0x2000
#define STROBE_FLAG_QUIET 0x40
#define STROBE_HOOK_SECCOMP 0x100
#define STROBE_HOOK_SETVBUF 0x200
#define STROBE_OTHER_FILES 0x20
#define STROBE_LOSSES_OFF 0x1988000
#define STROBE_LOSS_SHARDS 0x4
#define STROBE_SPENTS 0x400
#define STROBE_PAGE_SLOTS 0x200
#define STROBE_ALLOW_BYTES 0x4000
#define STROBE_LEAST_BYTES 0x40
#define STROBE_SPAN_SHIFT 0x1c
#define STROBE_STORM_BYTES 0x400000
#define STROBE_MAX_HOT 0x40
#define STROBE_WHOLE_CALLS 0x64
#define STROBE_MAX_SAVED 0x40
#define STROBE_SEEN_SLOTS 0x800
#define STROBE_ST_OK 0x0
#define STROBE_ST_NULL 0x1
#define STROBE_ST_UNREADABLE 0x2
#define STROBE_ST_CUT 0x3
#define STROBE_ST_NOROOM 0x4
#define STROBE_MAX_PAYLOAD 0x4000
#define STROBE_HOOK_GO 0x400
#define STROBE_GO_DEPTH_BITS 0x1c
#define STROBE_GO_REGS 0x9
#define STROBE_GO_OPEN_OFF 0x2988000
#define STROBE_GO_OPEN 0x1000
#define STROBE_WRITE_NONE 0xff
#define STROBE_REC_SOCKET 0x9
#define STROBE_FLAG_SOCKET 0x80
#define STROBE_HOOK_BEFORE 0x800
#define STROBE_TLS_WRITE 0x3e9
#define STROBE_TLS_READ 0x3ea
#define STROBE_TLS_WRITE_EX 0x3eb
#define STROBE_TLS_READ_EX 0x3ec
#define STROBE_SOCKET_FDS 0x4000
#define STROBE_FD_UNKNOWN 0x0
#define STROBE_FD_SOCKET 0x1
#define STROBE_FD_OTHER 0x2
#define STROBE_MAX_SOCK_ADDR 0x70
#define STROBE_FRAME_KINDS 0x2aa
#define STROBE_MAX_FRAMES 0x1000
#define STROBE_MAX_FRAME_COUNT 0x80
#define STROBE_HOOK_LOCK 0x1000
#define STROBE_LOCKS_OFF 0x2990000
#define STROBE_MAX_HELD 0x20
#define STROBE_LOCK_SEEN 0x100
#define STROBE_MAX_LOCK_EDGES 0x10000
#define STROBE_MAX_LOCK_WAITS 0x400
#define STROBE_MAX_LOCK_THREADS 0x2000
#define STROBE_MAX_LOCK_LINKS 0x4000
#define STROBE_LOCK_BUCKETS 0x20000
#define STROBE_LOCK_GATES 0x6
#define STROBE_LOCK_THREADS 0x6
#define STROBE_LOCK_EDGES_OFF 0x2b90000
#define STROBE_LOCK_WAITS_OFF 0x3f10000
#define STROBE_LOCK_STACKS_OFF 0x3710000
#define STROBE_MAX_LOCK_STACKS 0x800
#define STROBE_LOCK_STACK_KEPT 0xfe8
#define STROBE_LOCK_EDGE_BYTES 0xb8
#define STROBE_LOCK_STACK_BYTES 0x1000
#define STROBE_LOCK_WAIT_BYTES 0x800
#define STROBE_LOCK_WAIT_PLACES 0x1000
#define STROBE_LOCK_HEADS 0x4000
#define STROBE_LOCK_VARIANTS 0x4
#define STROBE_LOCK_WAIT_STACK 0x790
#define STROBE_LOCK_MUTEX 0x0
#define STROBE_LOCK_UNLOCK 0x1
#define STROBE_LOCK_TRY 0x2
#define STROBE_LOCK_TRY_READ 0x3
#define STROBE_LOCK_READ 0x4
#define STROBE_LOCK_WRITE 0x5
#define STROBE_LOCK_SPIN 0x6
#define STROBE_LOCK_COND 0x7
#define STROBE_LOCK_END 0x8
#define STROBE_LOCK_CREATE 0x9
#define STROBE_LOCK_JOIN 0xa
#define STROBE_LOCK_WAITS 0xb
#define STROBE_LOCK_SLOW 0xc
#define STROBE_LOCK_PRIVATE 0xd
#define STROBE_LOCK_MODE_READ 0x1
#define STROBE_LOCK_MODE_RW 0x2
#define STROBE_LOCK_MODE_SPIN 0x4

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct strobe_unwind {
	uint64_t fn;
	uint32_t llvm;
	uint32_t busy;
	uint32_t done;
	uint32_t pad;
	uint64_t undo;
};
_Static_assert(sizeof(struct strobe_unwind) == 32, "Unwind");
_Static_assert(offsetof(struct strobe_unwind, fn) == 0, "Unwind.Fn");
_Static_assert(offsetof(struct strobe_unwind, llvm) == 8, "Unwind.LLVM");
_Static_assert(offsetof(struct strobe_unwind, busy) == 12, "Unwind.Busy");
_Static_assert(offsetof(struct strobe_unwind, done) == 16, "Unwind.Done");
_Static_assert(offsetof(struct strobe_unwind, pad) == 20, "Unwind.Pad");
_Static_assert(offsetof(struct strobe_unwind, undo) == 24, "Unwind.Undo");

struct strobe_arena {
	uint64_t lo;
	uint64_t hi;
	uint64_t eh;
	uint64_t fde;
};
_Static_assert(sizeof(struct strobe_arena) == 32, "Arena");
_Static_assert(offsetof(struct strobe_arena, lo) == 0, "Arena.Lo");
_Static_assert(offsetof(struct strobe_arena, hi) == 8, "Arena.Hi");
_Static_assert(offsetof(struct strobe_arena, eh) == 16, "Arena.EH");
_Static_assert(offsetof(struct strobe_arena, fde) == 24, "Arena.FDE");

struct strobe_outfile {
	uint64_t dev;
	uint64_t ino;
};
_Static_assert(sizeof(struct strobe_outfile) == 16, "OutFile");
_Static_assert(offsetof(struct strobe_outfile, dev) == 0, "OutFile.Dev");
_Static_assert(offsetof(struct strobe_outfile, ino) == 8, "OutFile.Ino");

struct strobe_control {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint64_t heartbeattsc;
	uint64_t staleticks;
	uint32_t ringcount;
	uint32_t ringbytes;
	uint32_t ringhint;
	uint32_t arenacount;
	uint64_t noringlost;
	uint64_t rdebug;
	uint32_t syncseq;
	uint32_t syncack;
	uint32_t unwindcount;
	uint32_t leaveseq;
	struct strobe_unwind unwind[8];
	struct strobe_arena arenas[16];
	uint8_t objects[8192];
	uint32_t leaveack;
	uint32_t stopreq;
	uint32_t linekind;
	uint32_t linefull;
	uint64_t stdout;
	uint64_t lineticks;
	uint64_t linemost;
	uint64_t lineleft;
	uint64_t linetsc;
	struct strobe_outfile out[2];
	uint64_t waitticks;
	uint64_t goid;
	uint32_t sockethead;
	uint32_t pad;
	uint8_t socketfd[16384];
};
_Static_assert(sizeof(struct strobe_control) == 25536, "Control");
_Static_assert(offsetof(struct strobe_control, magic) == 0, "Control.Magic");
_Static_assert(offsetof(struct strobe_control, version) == 8, "Control.Version");
_Static_assert(offsetof(struct strobe_control, flags) == 12, "Control.Flags");
_Static_assert(offsetof(struct strobe_control, heartbeattsc) == 16, "Control.HeartbeatTSC");
_Static_assert(offsetof(struct strobe_control, staleticks) == 24, "Control.StaleTicks");
_Static_assert(offsetof(struct strobe_control, ringcount) == 32, "Control.RingCount");
_Static_assert(offsetof(struct strobe_control, ringbytes) == 36, "Control.RingBytes");
_Static_assert(offsetof(struct strobe_control, ringhint) == 40, "Control.RingHint");
_Static_assert(offsetof(struct strobe_control, arenacount) == 44, "Control.ArenaCount");
_Static_assert(offsetof(struct strobe_control, noringlost) == 48, "Control.NoRingLost");
_Static_assert(offsetof(struct strobe_control, rdebug) == 56, "Control.RDebug");
_Static_assert(offsetof(struct strobe_control, syncseq) == 64, "Control.SyncSeq");
_Static_assert(offsetof(struct strobe_control, syncack) == 68, "Control.SyncAck");
_Static_assert(offsetof(struct strobe_control, unwindcount) == 72, "Control.UnwindCount");
_Static_assert(offsetof(struct strobe_control, leaveseq) == 76, "Control.LeaveSeq");
_Static_assert(offsetof(struct strobe_control, unwind) == 80, "Control.Unwind");
_Static_assert(offsetof(struct strobe_control, arenas) == 336, "Control.Arenas");
_Static_assert(offsetof(struct strobe_control, objects) == 848, "Control.Objects");
_Static_assert(offsetof(struct strobe_control, leaveack) == 9040, "Control.LeaveAck");
_Static_assert(offsetof(struct strobe_control, stopreq) == 9044, "Control.StopReq");
_Static_assert(offsetof(struct strobe_control, linekind) == 9048, "Control.LineKind");
_Static_assert(offsetof(struct strobe_control, linefull) == 9052, "Control.LineFull");
_Static_assert(offsetof(struct strobe_control, stdout) == 9056, "Control.Stdout");
_Static_assert(offsetof(struct strobe_control, lineticks) == 9064, "Control.LineTicks");
_Static_assert(offsetof(struct strobe_control, linemost) == 9072, "Control.LineMost");
_Static_assert(offsetof(struct strobe_control, lineleft) == 9080, "Control.LineLeft");
_Static_assert(offsetof(struct strobe_control, linetsc) == 9088, "Control.LineTSC");
_Static_assert(offsetof(struct strobe_control, out) == 9096, "Control.Out");
_Static_assert(offsetof(struct strobe_control, waitticks) == 9128, "Control.WaitTicks");
_Static_assert(offsetof(struct strobe_control, goid) == 9136, "Control.GoID");
_Static_assert(offsetof(struct strobe_control, sockethead) == 9144, "Control.SocketHead");
_Static_assert(offsetof(struct strobe_control, pad) == 9148, "Control.Pad");
_Static_assert(offsetof(struct strobe_control, socketfd) == 9152, "Control.SocketFD");

struct strobe_hook {
	uint32_t flags;
	uint8_t entergprs;
	uint8_t exitgprs;
	uint16_t allow;
	uint32_t enterops;
	uint32_t exitops;
	uint32_t maxenter;
	uint32_t maxexit;
	uint32_t sample;
	uint16_t hot;
	uint8_t depth;
	uint8_t least;
};
_Static_assert(sizeof(struct strobe_hook) == 32, "Hook");
_Static_assert(offsetof(struct strobe_hook, flags) == 0, "Hook.Flags");
_Static_assert(offsetof(struct strobe_hook, entergprs) == 4, "Hook.EnterGPRs");
_Static_assert(offsetof(struct strobe_hook, exitgprs) == 5, "Hook.ExitGPRs");
_Static_assert(offsetof(struct strobe_hook, allow) == 6, "Hook.Allow");
_Static_assert(offsetof(struct strobe_hook, enterops) == 8, "Hook.EnterOps");
_Static_assert(offsetof(struct strobe_hook, exitops) == 12, "Hook.ExitOps");
_Static_assert(offsetof(struct strobe_hook, maxenter) == 16, "Hook.MaxEnter");
_Static_assert(offsetof(struct strobe_hook, maxexit) == 20, "Hook.MaxExit");
_Static_assert(offsetof(struct strobe_hook, sample) == 24, "Hook.Sample");
_Static_assert(offsetof(struct strobe_hook, hot) == 28, "Hook.Hot");
_Static_assert(offsetof(struct strobe_hook, depth) == 30, "Hook.Depth");
_Static_assert(offsetof(struct strobe_hook, least) == 31, "Hook.Least");

struct strobe_op {
	uint8_t code;
	uint8_t src;
	uint8_t slot;
	uint8_t dst;
	uint32_t srcoff;
	int32_t off;
	uint32_t size;
};
_Static_assert(sizeof(struct strobe_op) == 16, "Op");
_Static_assert(offsetof(struct strobe_op, code) == 0, "Op.Code");
_Static_assert(offsetof(struct strobe_op, src) == 1, "Op.Src");
_Static_assert(offsetof(struct strobe_op, slot) == 2, "Op.Slot");
_Static_assert(offsetof(struct strobe_op, dst) == 3, "Op.Dst");
_Static_assert(offsetof(struct strobe_op, srcoff) == 4, "Op.SrcOff");
_Static_assert(offsetof(struct strobe_op, off) == 8, "Op.Off");
_Static_assert(offsetof(struct strobe_op, size) == 12, "Op.Size");

struct strobe_node {
	uint64_t addr;
	uint32_t n;
	uint16_t walk;
	uint8_t depth;
	uint8_t status;
};
_Static_assert(sizeof(struct strobe_node) == 16, "Node");
_Static_assert(offsetof(struct strobe_node, addr) == 0, "Node.Addr");
_Static_assert(offsetof(struct strobe_node, n) == 8, "Node.N");
_Static_assert(offsetof(struct strobe_node, walk) == 12, "Node.Walk");
_Static_assert(offsetof(struct strobe_node, depth) == 14, "Node.Depth");
_Static_assert(offsetof(struct strobe_node, status) == 15, "Node.Status");

struct strobe_pointshard {
	uint64_t hits;
	uint64_t pad[7];
};
_Static_assert(sizeof(struct strobe_pointshard) == 64, "PointShard");
_Static_assert(offsetof(struct strobe_pointshard, hits) == 0, "PointShard.Hits");
_Static_assert(offsetof(struct strobe_pointshard, pad) == 8, "PointShard.Pad");

struct strobe_point {
	uint64_t hitcount;
	uint32_t thread;
	uint32_t pad0;
	uint64_t passes;
	uint64_t failed;
	uint64_t failedtsc;
	uint64_t pad1[3];
	struct strobe_pointshard shards[16];
};
_Static_assert(sizeof(struct strobe_point) == 1088, "Point");
_Static_assert(offsetof(struct strobe_point, hitcount) == 0, "Point.HitCount");
_Static_assert(offsetof(struct strobe_point, thread) == 8, "Point.Thread");
_Static_assert(offsetof(struct strobe_point, pad0) == 12, "Point.Pad0");
_Static_assert(offsetof(struct strobe_point, passes) == 16, "Point.Passes");
_Static_assert(offsetof(struct strobe_point, failed) == 24, "Point.Failed");
_Static_assert(offsetof(struct strobe_point, failedtsc) == 32, "Point.FailedTSC");
_Static_assert(offsetof(struct strobe_point, pad1) == 40, "Point.Pad1");
_Static_assert(offsetof(struct strobe_point, shards) == 64, "Point.Shards");

struct strobe_loss {
	uint64_t enters;
	uint64_t exits;
};
_Static_assert(sizeof(struct strobe_loss) == 16, "Loss");
_Static_assert(offsetof(struct strobe_loss, enters) == 0, "Loss.Enters");
_Static_assert(offsetof(struct strobe_loss, exits) == 8, "Loss.Exits");

struct strobe_threadslot {
	uint64_t fs;
	uint32_t ring;
	uint32_t tid;
};
_Static_assert(sizeof(struct strobe_threadslot) == 16, "ThreadSlot");
_Static_assert(offsetof(struct strobe_threadslot, fs) == 0, "ThreadSlot.FS");
_Static_assert(offsetof(struct strobe_threadslot, ring) == 8, "ThreadSlot.Ring");
_Static_assert(offsetof(struct strobe_threadslot, tid) == 12, "ThreadSlot.TID");

struct strobe_hot {
	uint64_t calls;
	uint64_t next;
	uint64_t recorded;
	uint64_t pad;
};
_Static_assert(sizeof(struct strobe_hot) == 32, "Hot");
_Static_assert(offsetof(struct strobe_hot, calls) == 0, "Hot.Calls");
_Static_assert(offsetof(struct strobe_hot, next) == 8, "Hot.Next");
_Static_assert(offsetof(struct strobe_hot, recorded) == 16, "Hot.Recorded");
_Static_assert(offsetof(struct strobe_hot, pad) == 24, "Hot.Pad");

struct strobe_spent {
	uint32_t span;
	uint32_t bytes;
};
_Static_assert(sizeof(struct strobe_spent) == 8, "Spent");
_Static_assert(offsetof(struct strobe_spent, span) == 0, "Spent.Span");
_Static_assert(offsetof(struct strobe_spent, bytes) == 4, "Spent.Bytes");

struct strobe_saved {
	uint64_t frame;
	uint64_t hook;
	uint64_t regs[6];
};
_Static_assert(sizeof(struct strobe_saved) == 64, "Saved");
_Static_assert(offsetof(struct strobe_saved, frame) == 0, "Saved.Frame");
_Static_assert(offsetof(struct strobe_saved, hook) == 8, "Saved.Hook");
_Static_assert(offsetof(struct strobe_saved, regs) == 16, "Saved.Regs");

struct strobe_otherfile {
	uint32_t fd;
	uint32_t count;
	uint64_t until;
};
_Static_assert(sizeof(struct strobe_otherfile) == 16, "OtherFile");
_Static_assert(offsetof(struct strobe_otherfile, fd) == 0, "OtherFile.FD");
_Static_assert(offsetof(struct strobe_otherfile, count) == 4, "OtherFile.Count");
_Static_assert(offsetof(struct strobe_otherfile, until) == 8, "OtherFile.Until");

struct strobe_held {
	uint64_t lock;
	uint64_t hash;
	uint64_t place;
	uint32_t mode;
	uint32_t pad;
};
_Static_assert(sizeof(struct strobe_held) == 32, "Held");
_Static_assert(offsetof(struct strobe_held, lock) == 0, "Held.Lock");
_Static_assert(offsetof(struct strobe_held, hash) == 8, "Held.Hash");
_Static_assert(offsetof(struct strobe_held, place) == 16, "Held.Place");
_Static_assert(offsetof(struct strobe_held, mode) == 24, "Held.Mode");
_Static_assert(offsetof(struct strobe_held, pad) == 28, "Held.Pad");

struct strobe_heldlocks {
	uint32_t count;
	uint32_t thread;
	uint32_t segment;
	uint32_t pad;
	uint64_t waiton;
	uint64_t waittsc;
	struct strobe_held held[33];
	uint64_t seen[256];
};
_Static_assert(sizeof(struct strobe_heldlocks) == 3136, "HeldLocks");
_Static_assert(offsetof(struct strobe_heldlocks, count) == 0, "HeldLocks.Count");
_Static_assert(offsetof(struct strobe_heldlocks, thread) == 4, "HeldLocks.Thread");
_Static_assert(offsetof(struct strobe_heldlocks, segment) == 8, "HeldLocks.Segment");
_Static_assert(offsetof(struct strobe_heldlocks, pad) == 12, "HeldLocks.Pad");
_Static_assert(offsetof(struct strobe_heldlocks, waiton) == 16, "HeldLocks.WaitOn");
_Static_assert(offsetof(struct strobe_heldlocks, waittsc) == 24, "HeldLocks.WaitTSC");
_Static_assert(offsetof(struct strobe_heldlocks, held) == 32, "HeldLocks.Held");
_Static_assert(offsetof(struct strobe_heldlocks, seen) == 1088, "HeldLocks.Seen");

struct strobe_header {
	uint64_t head;
	uint64_t cachedtail;
	uint64_t lost;
	uint64_t lostfirst;
	uint64_t lostlast;
	uint64_t losttotal;
	uint64_t pad0[2];
	uint64_t tail;
	uint32_t waiting;
	uint32_t pad1;
	uint64_t pad2[6];
	uint32_t tid;
	uint32_t pad3;
	uint64_t gaveup;
	uint64_t waits;
	uint64_t waited;
	uint64_t pad4[4];
	struct strobe_hot hot[64];
	struct strobe_saved saved[64];
	uint32_t savedcount;
	uint32_t wary;
	struct strobe_otherfile others[32];
	uint64_t pages[512];
	struct strobe_spent spent[1025];
	uint16_t seen[2048];
	uint64_t gostack;
	uint64_t calltsc;
	uint64_t callsp;
	struct strobe_heldlocks locks;
};
_Static_assert(sizeof(struct strobe_header) == 26408, "Header");
_Static_assert(offsetof(struct strobe_header, head) == 0, "Header.Head");
_Static_assert(offsetof(struct strobe_header, cachedtail) == 8, "Header.CachedTail");
_Static_assert(offsetof(struct strobe_header, lost) == 16, "Header.Lost");
_Static_assert(offsetof(struct strobe_header, lostfirst) == 24, "Header.LostFirst");
_Static_assert(offsetof(struct strobe_header, lostlast) == 32, "Header.LostLast");
_Static_assert(offsetof(struct strobe_header, losttotal) == 40, "Header.LostTotal");
_Static_assert(offsetof(struct strobe_header, pad0) == 48, "Header.Pad0");
_Static_assert(offsetof(struct strobe_header, tail) == 64, "Header.Tail");
_Static_assert(offsetof(struct strobe_header, waiting) == 72, "Header.Waiting");
_Static_assert(offsetof(struct strobe_header, pad1) == 76, "Header.Pad1");
_Static_assert(offsetof(struct strobe_header, pad2) == 80, "Header.Pad2");
_Static_assert(offsetof(struct strobe_header, tid) == 128, "Header.TID");
_Static_assert(offsetof(struct strobe_header, pad3) == 132, "Header.Pad3");
_Static_assert(offsetof(struct strobe_header, gaveup) == 136, "Header.GaveUp");
_Static_assert(offsetof(struct strobe_header, waits) == 144, "Header.Waits");
_Static_assert(offsetof(struct strobe_header, waited) == 152, "Header.Waited");
_Static_assert(offsetof(struct strobe_header, pad4) == 160, "Header.Pad4");
_Static_assert(offsetof(struct strobe_header, hot) == 192, "Header.Hot");
_Static_assert(offsetof(struct strobe_header, saved) == 2240, "Header.Saved");
_Static_assert(offsetof(struct strobe_header, savedcount) == 6336, "Header.SavedCount");
_Static_assert(offsetof(struct strobe_header, wary) == 6340, "Header.Wary");
_Static_assert(offsetof(struct strobe_header, others) == 6344, "Header.Others");
_Static_assert(offsetof(struct strobe_header, pages) == 6856, "Header.Pages");
_Static_assert(offsetof(struct strobe_header, spent) == 10952, "Header.Spent");
_Static_assert(offsetof(struct strobe_header, seen) == 19152, "Header.Seen");
_Static_assert(offsetof(struct strobe_header, gostack) == 23248, "Header.GoStack");
_Static_assert(offsetof(struct strobe_header, calltsc) == 23256, "Header.CallTSC");
_Static_assert(offsetof(struct strobe_header, callsp) == 23264, "Header.CallSP");
_Static_assert(offsetof(struct strobe_header, locks) == 23272, "Header.Locks");

struct strobe_record {
	uint64_t tsc;
	uint32_t hook;
	uint16_t size8;
	uint8_t kind;
	uint8_t flags;
	uint64_t sp;
};
_Static_assert(sizeof(struct strobe_record) == 24, "Record");
_Static_assert(offsetof(struct strobe_record, tsc) == 0, "Record.TSC");
_Static_assert(offsetof(struct strobe_record, hook) == 8, "Record.Hook");
_Static_assert(offsetof(struct strobe_record, size8) == 12, "Record.Size8");
_Static_assert(offsetof(struct strobe_record, kind) == 14, "Record.Kind");
_Static_assert(offsetof(struct strobe_record, flags) == 15, "Record.Flags");
_Static_assert(offsetof(struct strobe_record, sp) == 16, "Record.SP");

struct strobe_output {
	uint32_t fd;
	uint32_t n;
	uint64_t more;
};
_Static_assert(sizeof(struct strobe_output) == 16, "Output");
_Static_assert(offsetof(struct strobe_output, fd) == 0, "Output.FD");
_Static_assert(offsetof(struct strobe_output, n) == 4, "Output.N");
_Static_assert(offsetof(struct strobe_output, more) == 8, "Output.More");

struct strobe_wrote {
	uint32_t stream;
	uint32_t known;
	uint64_t n;
	uint8_t head[32];
	uint8_t tail[32];
};
_Static_assert(sizeof(struct strobe_wrote) == 80, "Wrote");
_Static_assert(offsetof(struct strobe_wrote, stream) == 0, "Wrote.Stream");
_Static_assert(offsetof(struct strobe_wrote, known) == 4, "Wrote.Known");
_Static_assert(offsetof(struct strobe_wrote, n) == 8, "Wrote.N");
_Static_assert(offsetof(struct strobe_wrote, head) == 16, "Wrote.Head");
_Static_assert(offsetof(struct strobe_wrote, tail) == 48, "Wrote.Tail");

struct strobe_socket {
	uint32_t nr;
	uint8_t local;
	uint8_t peer;
	uint8_t fresh;
	uint8_t pad;
	uint32_t head;
	uint32_t part;
	uint64_t from;
	int64_t result;
	uint64_t args[4];
	uint32_t frames;
	uint32_t pad2;
};
_Static_assert(sizeof(struct strobe_socket) == 72, "Socket");
_Static_assert(offsetof(struct strobe_socket, nr) == 0, "Socket.NR");
_Static_assert(offsetof(struct strobe_socket, local) == 4, "Socket.Local");
_Static_assert(offsetof(struct strobe_socket, peer) == 5, "Socket.Peer");
_Static_assert(offsetof(struct strobe_socket, fresh) == 6, "Socket.Fresh");
_Static_assert(offsetof(struct strobe_socket, pad) == 7, "Socket.Pad");
_Static_assert(offsetof(struct strobe_socket, head) == 8, "Socket.Head");
_Static_assert(offsetof(struct strobe_socket, part) == 12, "Socket.Part");
_Static_assert(offsetof(struct strobe_socket, from) == 16, "Socket.From");
_Static_assert(offsetof(struct strobe_socket, result) == 24, "Socket.Result");
_Static_assert(offsetof(struct strobe_socket, args) == 32, "Socket.Args");
_Static_assert(offsetof(struct strobe_socket, frames) == 64, "Socket.Frames");
_Static_assert(offsetof(struct strobe_socket, pad2) == 68, "Socket.Pad2");

struct strobe_blobheader {
	uint64_t magic;
	uint64_t enter;
	uint64_t entervec;
	uint64_t enteronly;
	uint64_t exit;
	uint64_t exitvec;
	uint64_t exitst0;
	uint64_t exitst01;
	uint64_t exittrap;
	uint64_t copy;
	uint64_t criticallo;
	uint64_t criticalhi;
	uint64_t faultlo;
	uint64_t faulthi;
	uint64_t faultfix;
	uint64_t copylo;
	uint64_t copyhi;
	uint64_t probe;
	uint64_t probevec;
	uint64_t probetrap;
	uint64_t rest;
	uint64_t codelo;
	uint64_t stoptrap;
	uint64_t fastlo;
	uint64_t fasthi;
	uint64_t fastfix;
	uint64_t goenter;
	uint64_t goentervec;
	uint64_t goexit;
	uint64_t goexitvec;
	uint64_t locktake;
	uint64_t lockleave;
	uint64_t lockcall;
};
_Static_assert(sizeof(struct strobe_blobheader) == 264, "BlobHeader");
_Static_assert(offsetof(struct strobe_blobheader, magic) == 0, "BlobHeader.Magic");
_Static_assert(offsetof(struct strobe_blobheader, enter) == 8, "BlobHeader.Enter");
_Static_assert(offsetof(struct strobe_blobheader, entervec) == 16, "BlobHeader.EnterVec");
_Static_assert(offsetof(struct strobe_blobheader, enteronly) == 24, "BlobHeader.EnterOnly");
_Static_assert(offsetof(struct strobe_blobheader, exit) == 32, "BlobHeader.Exit");
_Static_assert(offsetof(struct strobe_blobheader, exitvec) == 40, "BlobHeader.ExitVec");
_Static_assert(offsetof(struct strobe_blobheader, exitst0) == 48, "BlobHeader.ExitST0");
_Static_assert(offsetof(struct strobe_blobheader, exitst01) == 56, "BlobHeader.ExitST01");
_Static_assert(offsetof(struct strobe_blobheader, exittrap) == 64, "BlobHeader.ExitTrap");
_Static_assert(offsetof(struct strobe_blobheader, copy) == 72, "BlobHeader.Copy");
_Static_assert(offsetof(struct strobe_blobheader, criticallo) == 80, "BlobHeader.CriticalLo");
_Static_assert(offsetof(struct strobe_blobheader, criticalhi) == 88, "BlobHeader.CriticalHi");
_Static_assert(offsetof(struct strobe_blobheader, faultlo) == 96, "BlobHeader.FaultLo");
_Static_assert(offsetof(struct strobe_blobheader, faulthi) == 104, "BlobHeader.FaultHi");
_Static_assert(offsetof(struct strobe_blobheader, faultfix) == 112, "BlobHeader.FaultFix");
_Static_assert(offsetof(struct strobe_blobheader, copylo) == 120, "BlobHeader.CopyLo");
_Static_assert(offsetof(struct strobe_blobheader, copyhi) == 128, "BlobHeader.CopyHi");
_Static_assert(offsetof(struct strobe_blobheader, probe) == 136, "BlobHeader.Probe");
_Static_assert(offsetof(struct strobe_blobheader, probevec) == 144, "BlobHeader.ProbeVec");
_Static_assert(offsetof(struct strobe_blobheader, probetrap) == 152, "BlobHeader.ProbeTrap");
_Static_assert(offsetof(struct strobe_blobheader, rest) == 160, "BlobHeader.Rest");
_Static_assert(offsetof(struct strobe_blobheader, codelo) == 168, "BlobHeader.CodeLo");
_Static_assert(offsetof(struct strobe_blobheader, stoptrap) == 176, "BlobHeader.StopTrap");
_Static_assert(offsetof(struct strobe_blobheader, fastlo) == 184, "BlobHeader.FastLo");
_Static_assert(offsetof(struct strobe_blobheader, fasthi) == 192, "BlobHeader.FastHi");
_Static_assert(offsetof(struct strobe_blobheader, fastfix) == 200, "BlobHeader.FastFix");
_Static_assert(offsetof(struct strobe_blobheader, goenter) == 208, "BlobHeader.GoEnter");
_Static_assert(offsetof(struct strobe_blobheader, goentervec) == 216, "BlobHeader.GoEnterVec");
_Static_assert(offsetof(struct strobe_blobheader, goexit) == 224, "BlobHeader.GoExit");
_Static_assert(offsetof(struct strobe_blobheader, goexitvec) == 232, "BlobHeader.GoExitVec");
_Static_assert(offsetof(struct strobe_blobheader, locktake) == 240, "BlobHeader.LockTake");
_Static_assert(offsetof(struct strobe_blobheader, lockleave) == 248, "BlobHeader.LockLeave");
_Static_assert(offsetof(struct strobe_blobheader, lockcall) == 256, "BlobHeader.LockCall");

struct strobe_proberegs {
	uint64_t regs[16];
	uint64_t flags;
};
_Static_assert(sizeof(struct strobe_proberegs) == 136, "ProbeRegs");
_Static_assert(offsetof(struct strobe_proberegs, regs) == 0, "ProbeRegs.Regs");
_Static_assert(offsetof(struct strobe_proberegs, flags) == 128, "ProbeRegs.Flags");

struct strobe_lockthread {
	uint64_t fs;
	uint64_t tsc;
	uint32_t tid;
	uint32_t pad;
};
_Static_assert(sizeof(struct strobe_lockthread) == 24, "LockThread");
_Static_assert(offsetof(struct strobe_lockthread, fs) == 0, "LockThread.FS");
_Static_assert(offsetof(struct strobe_lockthread, tsc) == 8, "LockThread.TSC");
_Static_assert(offsetof(struct strobe_lockthread, tid) == 16, "LockThread.TID");
_Static_assert(offsetof(struct strobe_lockthread, pad) == 20, "LockThread.Pad");

struct strobe_locklink {
	uint64_t fs;
	uint64_t tsc;
	uint32_t thread;
	uint32_t segment;
	uint32_t join;
	uint32_t ready;
};
_Static_assert(sizeof(struct strobe_locklink) == 32, "LockLink");
_Static_assert(offsetof(struct strobe_locklink, fs) == 0, "LockLink.FS");
_Static_assert(offsetof(struct strobe_locklink, tsc) == 8, "LockLink.TSC");
_Static_assert(offsetof(struct strobe_locklink, thread) == 16, "LockLink.Thread");
_Static_assert(offsetof(struct strobe_locklink, segment) == 20, "LockLink.Segment");
_Static_assert(offsetof(struct strobe_locklink, join) == 24, "LockLink.Join");
_Static_assert(offsetof(struct strobe_locklink, ready) == 28, "LockLink.Ready");

struct strobe_locks {
	uint32_t edges;
	uint32_t waits;
	uint32_t threads;
	uint32_t links;
	uint32_t stacks;
	uint32_t pad;
	uint64_t edgeslost;
	uint64_t waitslost;
	uint64_t threadslost;
	uint64_t linkslost;
	uint64_t heldlost;
	uint64_t morethreads;
	uint32_t edgeindex[131072];
	uint32_t waitindex[4096];
	uint32_t heads[16384];
	struct strobe_lockthread thread[8192];
	struct strobe_locklink link[16384];
};
_Static_assert(sizeof(struct strobe_locks) == 1327176, "Locks");
_Static_assert(offsetof(struct strobe_locks, edges) == 0, "Locks.Edges");
_Static_assert(offsetof(struct strobe_locks, waits) == 4, "Locks.Waits");
_Static_assert(offsetof(struct strobe_locks, threads) == 8, "Locks.Threads");
_Static_assert(offsetof(struct strobe_locks, links) == 12, "Locks.Links");
_Static_assert(offsetof(struct strobe_locks, stacks) == 16, "Locks.Stacks");
_Static_assert(offsetof(struct strobe_locks, pad) == 20, "Locks.Pad");
_Static_assert(offsetof(struct strobe_locks, edgeslost) == 24, "Locks.EdgesLost");
_Static_assert(offsetof(struct strobe_locks, waitslost) == 32, "Locks.WaitsLost");
_Static_assert(offsetof(struct strobe_locks, threadslost) == 40, "Locks.ThreadsLost");
_Static_assert(offsetof(struct strobe_locks, linkslost) == 48, "Locks.LinksLost");
_Static_assert(offsetof(struct strobe_locks, heldlost) == 56, "Locks.HeldLost");
_Static_assert(offsetof(struct strobe_locks, morethreads) == 64, "Locks.MoreThreads");
_Static_assert(offsetof(struct strobe_locks, edgeindex) == 72, "Locks.EdgeIndex");
_Static_assert(offsetof(struct strobe_locks, waitindex) == 524360, "Locks.WaitIndex");
_Static_assert(offsetof(struct strobe_locks, heads) == 540744, "Locks.Heads");
_Static_assert(offsetof(struct strobe_locks, thread) == 606280, "Locks.Thread");
_Static_assert(offsetof(struct strobe_locks, link) == 802888, "Locks.Link");

struct strobe_locktaker {
	uint32_t thread;
	uint32_t first;
	uint32_t last;
};
_Static_assert(sizeof(struct strobe_locktaker) == 12, "LockTaker");
_Static_assert(offsetof(struct strobe_locktaker, thread) == 0, "LockTaker.Thread");
_Static_assert(offsetof(struct strobe_locktaker, first) == 4, "LockTaker.First");
_Static_assert(offsetof(struct strobe_locktaker, last) == 8, "LockTaker.Last");

struct strobe_lockedge {
	uint64_t key;
	uint64_t from;
	uint64_t to;
	uint64_t fromplace;
	uint64_t rip;
	uint64_t gates[6];
	struct strobe_locktaker threads[6];
	uint32_t mode;
	uint32_t ready;
	uint32_t dead;
	uint32_t stack;
	uint32_t nextfrom;
	uint32_t nextto;
};
_Static_assert(sizeof(struct strobe_lockedge) == 184, "LockEdge");
_Static_assert(offsetof(struct strobe_lockedge, key) == 0, "LockEdge.Key");
_Static_assert(offsetof(struct strobe_lockedge, from) == 8, "LockEdge.From");
_Static_assert(offsetof(struct strobe_lockedge, to) == 16, "LockEdge.To");
_Static_assert(offsetof(struct strobe_lockedge, fromplace) == 24, "LockEdge.FromPlace");
_Static_assert(offsetof(struct strobe_lockedge, rip) == 32, "LockEdge.RIP");
_Static_assert(offsetof(struct strobe_lockedge, gates) == 40, "LockEdge.Gates");
_Static_assert(offsetof(struct strobe_lockedge, threads) == 88, "LockEdge.Threads");
_Static_assert(offsetof(struct strobe_lockedge, mode) == 160, "LockEdge.Mode");
_Static_assert(offsetof(struct strobe_lockedge, ready) == 164, "LockEdge.Ready");
_Static_assert(offsetof(struct strobe_lockedge, dead) == 168, "LockEdge.Dead");
_Static_assert(offsetof(struct strobe_lockedge, stack) == 172, "LockEdge.Stack");
_Static_assert(offsetof(struct strobe_lockedge, nextfrom) == 176, "LockEdge.NextFrom");
_Static_assert(offsetof(struct strobe_lockedge, nextto) == 180, "LockEdge.NextTo");

struct strobe_lockstack {
	uint64_t rsp;
	uint64_t rbp;
	uint32_t bytes;
	uint32_t pad;
	uint8_t stack[4072];
};
_Static_assert(sizeof(struct strobe_lockstack) == 4096, "LockStack");
_Static_assert(offsetof(struct strobe_lockstack, rsp) == 0, "LockStack.RSP");
_Static_assert(offsetof(struct strobe_lockstack, rbp) == 8, "LockStack.RBP");
_Static_assert(offsetof(struct strobe_lockstack, bytes) == 16, "LockStack.Bytes");
_Static_assert(offsetof(struct strobe_lockstack, pad) == 20, "LockStack.Pad");
_Static_assert(offsetof(struct strobe_lockstack, stack) == 24, "LockStack.Stack");

struct strobe_lockwait {
	uint64_t key;
	uint64_t lock;
	uint64_t place;
	uint64_t count;
	uint64_t ticks;
	uint64_t most;
	uint32_t tid;
	uint32_t owner;
	uint32_t kind;
	uint32_t ready;
	uint64_t rip;
	uint64_t rsp;
	uint64_t rbp;
	uint32_t bytes;
	uint32_t dead;
	uint64_t first;
	uint64_t last;
	uint8_t stack[1936];
};
_Static_assert(sizeof(struct strobe_lockwait) == 2048, "LockWait");
_Static_assert(offsetof(struct strobe_lockwait, key) == 0, "LockWait.Key");
_Static_assert(offsetof(struct strobe_lockwait, lock) == 8, "LockWait.Lock");
_Static_assert(offsetof(struct strobe_lockwait, place) == 16, "LockWait.Place");
_Static_assert(offsetof(struct strobe_lockwait, count) == 24, "LockWait.Count");
_Static_assert(offsetof(struct strobe_lockwait, ticks) == 32, "LockWait.Ticks");
_Static_assert(offsetof(struct strobe_lockwait, most) == 40, "LockWait.Most");
_Static_assert(offsetof(struct strobe_lockwait, tid) == 48, "LockWait.TID");
_Static_assert(offsetof(struct strobe_lockwait, owner) == 52, "LockWait.Owner");
_Static_assert(offsetof(struct strobe_lockwait, kind) == 56, "LockWait.Kind");
_Static_assert(offsetof(struct strobe_lockwait, ready) == 60, "LockWait.Ready");
_Static_assert(offsetof(struct strobe_lockwait, rip) == 64, "LockWait.RIP");
_Static_assert(offsetof(struct strobe_lockwait, rsp) == 72, "LockWait.RSP");
_Static_assert(offsetof(struct strobe_lockwait, rbp) == 80, "LockWait.RBP");
_Static_assert(offsetof(struct strobe_lockwait, bytes) == 88, "LockWait.Bytes");
_Static_assert(offsetof(struct strobe_lockwait, dead) == 92, "LockWait.Dead");
_Static_assert(offsetof(struct strobe_lockwait, first) == 96, "LockWait.First");
_Static_assert(offsetof(struct strobe_lockwait, last) == 104, "LockWait.Last");
_Static_assert(offsetof(struct strobe_lockwait, stack) == 112, "LockWait.Stack");
#endif
