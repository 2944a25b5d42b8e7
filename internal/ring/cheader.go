package ring

import (
	"fmt"
	"reflect"
	"strings"
)

// abiTypes and abiConsts are the table that both sides are made from.
var abiTypes = []any{Unwind{}, Arena{}, OutFile{}, Control{}, Hook{}, Op{}, Node{}, PointShard{}, Point{}, Loss{},
	ThreadSlot{}, Hot{}, Spent{}, Saved{}, OtherFile{}, Held{}, HeldLocks{}, Header{}, Record{}, Output{},
	Wrote{}, Socket{}, BlobHeader{}, ProbeRegs{}, LockThread{},
	LockLink{}, Locks{}, LockTaker{}, LockEdge{}, LockStack{}, LockWait{}}

var abiConsts = []struct {
	name  string
	value uint64
}{
	{"MAGIC", Magic}, {"VERSION", Version}, {"CODE_BYTES", CodeBytes}, {"CONTROL_OFF", ControlOff},
	{"HOOKS_OFF", HooksOff}, {"MAX_HOOKS", MaxHooks}, {"OPS_OFF", OpsOff}, {"THREADS_OFF", ThreadsOff},
	{"THREAD_SLOTS", ThreadSlots},
	{"STATES_OFF", StatesOff}, {"RINGS_OFF", RingsOff}, {"HEADER_BYTES", HeaderBytes}, {"RECORD_BYTES", RecordBytes},
	{"OBJ_BYTES", ObjBytes}, {"MAX_UNWIND", MaxUnwind},
	{"REC_ENTER", RecEnter}, {"REC_EXIT", RecExit}, {"REC_DROPPED", RecDropped}, {"REC_PAD", RecPad},
	{"REC_TAIL", RecTail}, {"TAIL_ID", TailID}, {"REC_TRUNCATED", RecTruncated}, {"RING_FREE", RingFree},
	{"RING_USED", RingUsed},
	{"FLAG_BLOCK", FlagBlock}, {"FLAG_FSGS", FlagFSGS}, {"FLAG_TSC", FlagTSC},
	{"HOOK_SYNC", HookSync}, {"HOOK_UNWIND", HookUnwind}, {"HOOK_FIND_FDE", HookFindFDE}, {"FLAG_SHADOW", FlagShadow},
	{"FLAG_FS0", FlagFS0}, {"FLAG_BY_TID", FlagByTID}, {"HOOK_LEAVE", HookLeave}, {"HOOK_OUTPUT", HookOutput},
	{"REC_OUTPUT", RecOutput}, {"OUTPUT_CHUNK", OutputChunk}, {"OUTPUT_CHUNKS", OutputChunks},
	{"OP_END", OpEnd}, {"OP_REG", OpReg}, {"OP_XMM", OpXMM}, {"OP_STACK", OpStack}, {"OP_ST0", OpST0},
	{"OP_ROOT", OpRoot}, {"OP_GATHER", OpGather}, {"OP_EVAL", OpEval}, {"OP_SAVE", OpSave}, {"OP_SAVED", OpSaved},
	{"OP_WIPE", OpWipe}, {"WALK_WIPE", WalkWipe}, {"WALK_WIPES", WalkWipes},
	{"REC_SAMPLED", RecSampled},
	{"WALK_LOAD", WalkLoad}, {"WALK_LOADMEM", WalkLoadMem}, {"WALK_CONST", WalkConst}, {"WALK_ALU", WalkALU},
	{"WALK_ALUIMM", WalkALUImm},
	{"WALK_JUMP", WalkJump}, {"WALK_JUMPZERO", WalkJumpZero}, {"WALK_JUMPNOT", WalkJumpNot}, {"WALK_NODE", WalkNode},
	{"WALK_TEXT", WalkText},
	{"WALK_OPEN", WalkOpen}, {"WALK_PUSH", WalkPush}, {"WALK_CLOSE", WalkClose}, {"WALK_SUB", WalkSub},
	{"WALK_ADDR", WalkAddr}, {"WALK_OUT", WalkOut},
	{"WALK_FS", WalkFS}, {"WALK_REG", WalkReg}, {"WALK_CFA", WalkCFA}, {"WALK_INFO", WalkInfo},
	{"WALK_FOLLOW", WalkFollow}, {"WALK_BETWEEN", WalkBetween}, {"WALK_SPAN", WalkSpan}, {"FOLLOW_DEEPER", FollowDeeper},
	{"FOLLOW_TEXT", FollowText}, {"WALK_ENDS", WalkEnds}, {"NO_REG", NoReg},
	{"ALU_ADD", ALUAdd}, {"ALU_SUB", ALUSub}, {"ALU_MUL", ALUMul}, {"ALU_UDIV", ALUUDiv}, {"ALU_SDIV", ALUSDiv},
	{"ALU_UREM", ALUURem}, {"ALU_SREM", ALUSRem},
	{"ALU_AND", ALUAnd}, {"ALU_OR", ALUOr}, {"ALU_XOR", ALUXor}, {"ALU_SHL", ALUShl}, {"ALU_SHR", ALUShr},
	{"ALU_SAR", ALUSar},
	{"ALU_EQ", ALUEq}, {"ALU_NE", ALUNe}, {"ALU_ULT", ALUULt}, {"ALU_SLT", ALUSLt}, {"ALU_ULE", ALUULe},
	{"ALU_SLE", ALUSLe},
	{"WALKS_OFF", WalksOff}, {"MAX_WALKS", MaxWalks}, {"MAX_OPS", MaxOps}, {"MAX_NODES", MaxNodes},
	{"MAX_STEPS", MaxSteps}, {"NODE_BYTES", NodeBytes},
	{"POINTS_OFF", PointsOff}, {"MAX_POINTS", MaxPoints}, {"POINT_SHARDS", PointShards}, {"REC_POINT", RecPoint},
	{"REC_FAILED", RecFailed},
	{"HOOK_POINT", HookPoint}, {"HOOK_PAUSE", HookPause}, {"HOOK_OFF", HookOff},
	{"REC_WROTE", RecWrote}, {"WROTE_PRINT", WrotePrint}, {"WRITE_VECTOR", WriteVector}, {"WRITE_FILE", WriteFile},
	{"WRITE_SPLICE", WriteSplice},
	{"WRITE_TEE", WriteTee}, {"SPARE_BYTES", SpareBytes}, {"FLAG_QUIET", FlagQuiet}, {"HOOK_SECCOMP", HookSeccomp},
	{"HOOK_SETVBUF", HookSetvbuf}, {"OTHER_FILES", OtherFiles},
	{"LOSSES_OFF", LossesOff}, {"LOSS_SHARDS", LossShards},
	{"SPENTS", Spents}, {"PAGE_SLOTS", PageSlots}, {"ALLOW_BYTES", AllowBytes}, {"LEAST_BYTES", LeastBytes},
	{"SPAN_SHIFT", SpanShift}, {"STORM_BYTES", StormBytes}, {"MAX_HOT", MaxHot}, {"WHOLE_CALLS", WholeCalls},
	{"MAX_SAVED", MaxSaved}, {"SEEN_SLOTS", SeenSlots},
	{"ST_OK", StatusOK}, {"ST_NULL", StatusNull}, {"ST_UNREADABLE", StatusUnreadable}, {"ST_CUT", StatusCut},
	{"ST_NOROOM", StatusNoRoom},
	{"MAX_PAYLOAD", MaxPayload},
	{"HOOK_GO", HookGo}, {"GO_DEPTH_BITS", GoDepthBits}, {"GO_REGS", GoRegs}, {"GO_OPEN_OFF", GoOpenOff},
	{"GO_OPEN", GoOpen},
	{"WRITE_NONE", WriteNone}, {"REC_SOCKET", RecSocket}, {"FLAG_SOCKET", FlagSocket}, {"HOOK_BEFORE", HookBefore},
	{"TLS_WRITE", TLSWrite}, {"TLS_READ", TLSRead}, {"TLS_WRITE_EX", TLSWriteEx}, {"TLS_READ_EX", TLSReadEx},
	{"SOCKET_FDS", SocketFDs}, {"FD_UNKNOWN", FDUnknown}, {"FD_SOCKET", FDSocket}, {"FD_OTHER", FDOther},
	{"MAX_SOCK_ADDR", MaxSockAddr}, {"FRAME_KINDS", FrameKinds}, {"MAX_FRAMES", MaxFrames},
	{"MAX_FRAME_COUNT", MaxFrameCount},
	{"HOOK_LOCK", HookLock}, {"LOCKS_OFF", LocksOff}, {"MAX_HELD", MaxHeld}, {"LOCK_SEEN", LockSeen},
	{"MAX_LOCK_EDGES", MaxLockEdges}, {"MAX_LOCK_WAITS", MaxLockWaits}, {"MAX_LOCK_THREADS", MaxLockThreads},
	{"MAX_LOCK_LINKS", MaxLockLinks}, {"LOCK_BUCKETS", LockBuckets}, {"LOCK_GATES", LockGates},
	{"LOCK_THREADS", LockThreads}, {"LOCK_EDGES_OFF", LockEdgesOff}, {"LOCK_WAITS_OFF", LockWaitsOff},
	{"LOCK_STACKS_OFF", LockStacksOff}, {"MAX_LOCK_STACKS", MaxLockStacks},
	{"LOCK_STACK_KEPT", LockStackKept}, {"LOCK_EDGE_BYTES", LockEdgeBytes}, {"LOCK_STACK_BYTES", LockStackBytes},
	{"LOCK_WAIT_BYTES", LockWaitBytes}, {"LOCK_WAIT_PLACES", LockWaitPlaces}, {"LOCK_HEADS", LockHeads},
	{"LOCK_VARIANTS", LockVariants}, {"LOCK_WAIT_STACK", LockWaitStack},
	{"LOCK_MUTEX", LockMutex}, {"LOCK_UNLOCK", LockUnlock}, {"LOCK_TRY", LockTry}, {"LOCK_TRY_READ", LockTryRead},
	{"LOCK_READ", LockRead}, {"LOCK_WRITE", LockWrite}, {"LOCK_SPIN", LockSpin}, {"LOCK_COND", LockCond},
	{"LOCK_END", LockEnd}, {"LOCK_CREATE", LockCreate}, {"LOCK_JOIN", LockJoin}, {"LOCK_WAITS", LockWaits},
	{"LOCK_SLOW", LockSlow}, {"LOCK_PRIVATE", LockPrivate},
	{"LOCK_MODE_READ", LockModeRead}, {"LOCK_MODE_RW", LockModeRW}, {"LOCK_MODE_SPIN", LockModeSpin},
}

// CHeader returns the text of agent/ring_abi.h.
func CHeader() string {
	var b strings.Builder
	b.WriteString("// Code generated from internal/ring by make generate. DO NOT EDIT.\n#pragma once\n\n")
	for _, c := range abiConsts {
		fmt.Fprintf(&b, "#define STROBE_%s 0x%x\n", c.name, c.value)
	}
	b.WriteString("\n#ifndef __ASSEMBLER__\n#include <stddef.h>\n#include <stdint.h>\n")
	for _, v := range abiTypes {
		writeStruct(&b, reflect.TypeOf(v))
	}
	b.WriteString("#endif\n")
	return b.String()
}

func writeStruct(b *strings.Builder, t reflect.Type) {
	name := "strobe_" + strings.ToLower(t.Name())
	fmt.Fprintf(b, "\nstruct %s {\n", name)
	for f := range fields(t) {
		elem, dim := f.Type, ""
		if elem.Kind() == reflect.Array {
			dim, elem = fmt.Sprintf("[%d]", elem.Len()), elem.Elem()
		}
		ctype := fmt.Sprintf("%s_t", elem.Kind())
		if elem.Kind() == reflect.Struct {
			ctype = "struct strobe_" + strings.ToLower(elem.Name())
		}
		fmt.Fprintf(b, "\t%s %s%s;\n", ctype, strings.ToLower(f.Name), dim)
	}
	fmt.Fprintf(b, "};\n_Static_assert(sizeof(struct %s) == %d, \"%s\");\n", name, t.Size(), t.Name())
	for f := range fields(t) {
		fmt.Fprintf(b, "_Static_assert(offsetof(struct %s, %s) == %d, \"%s.%s\");\n", name, strings.ToLower(f.Name), f.Offset,
			t.Name(), f.Name)
	}
}

func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
