package java.lang;

import java.util.HashMap;
import jdk.internal.misc.Unsafe;

/** A thread's stream of records, and what is written into a record. Only its thread touches it. */
public final class StrobeThread extends StrobeWriter {
    static final int FUNCTION = 1, LANE = 2, ENTER = 3, EXIT = 4, LOST = 6, CRASH = 7, LOG = 8, SWITCH = 10, NEXT = 255;
    static final int THROWN = 1;

    /** Room that a record needs besides its names: see StrobeWriter.room. */
    static final int ROOM = 40 << 10;

    private static final Unsafe U = StrobeRecorder.U;
    private final int stream;
    final int era; // StrobeRecorder.era
    private int sequence = -1;
    private long segment, size, end; // mapping, its size, and where records end

    private StrobeLane on, own; // whose calls are written now; the thread's
    private String name; // of the thread; null: strobe has it
    private boolean carries; // a virtual thread, which is pinned until it is released
    StrobeRecorder.Function function;
    int flags;
    private int under, aux;
    private boolean writing; // a record has begun
    private int kind, keyed;
    private HashMap<Integer, long[]> lost; // by function: enters, exits, and open calls without an enter

    StrobeThread(int stream, int era) {
        this.stream = stream;
        this.era = era;
    }

    /** A thread begins. */
    void begins(int lane, String name) {
        on = own = new StrobeLane(lane, era);
        this.name = name;
    }

    /** A virtual thread runs on this one. False: there is no room to tell of its lane, which has no number then. */
    boolean carries(StrobeLane of) {
        try {
            if (carries) { // the one before was left in the middle: its stack overflowed
                carries = false;
                StrobeCarriers.unpin();
            }
            if (!of.told) {
                boolean room = name == null || prepare(0, null, ROOM);
                in = true;
                if (!room || !tellLane(of.own, "{\"of\":", own.own, StrobeThreads.name(Thread.currentThread()))) {
                    return false;
                }
                of.told = true;
            }
            on = of;
            carries = true;
            return true;
        } finally {
            in = false;
        }
    }

    /** The record is there, or will not be. */
    void release() {
        if (carries) {
            carries = false;
            on = own;
            StrobeCarriers.unpin();
        }
    }

    /**
     * Begins a record. False where there is no room: then it is counted. One that was begun and never ended, because the
     * stack overflowed in between, is wiped out: behind the last record all is zero.
     */
    boolean open(int kind, StrobeRecorder.Function f) {
        if (writing) {
            wipe(next, at);
        }
        int need = f == null ? ROOM : f.need;
        if ((lost != null || next + need > end || name != null) && !prepare(kind, f, need)) {
            return false;
        }
        this.kind = kind;
        function = f;
        keyed = 0;
        flags = under = aux = 0;
        at = next + 32;
        writing = true;
        U.putLong(next, System.nanoTime());
        return true;
    }

    private static void wipe(long from, long to) {
        U.setMemory(from, to - from + 64, (byte) 0);
    }

    /** What a record may need before it can begin. */
    boolean prepare(int kind, StrobeRecorder.Function f, int need) {
        in = true;
        try {
            if (kind == EXIT && lost != null && skips(f.number)) {
                return false;
            }
            if (next + need > end && !turn(need, false) || name != null && !tellThread()) {
                if (f != null) {
                    count(f.number, kind == ENTER ? 0 : 1);
                    if (kind == ENTER) {
                        count(f.number, 2);
                    }
                }
                return false;
            }
            return true;
        } finally {
            in = false;
        }
    }

    /** Publishes the record. */
    void commit() {
        publish(kind, function == null ? 0 : function.number, on.now, flags);
        writing = false;
        release();
    }

    // --- calls that are left and come back

    /** A suspend function begins, on a lane of its own. Null where there is no room: then it is counted. */
    StrobeThread enters(StrobeRecorder.Function f, Object key) {
        int was = on.now, lane = 0;
        StrobeLane home = on.home();
        if (hasRoom(f.need + ROOM)) {
            lane = home.take();
            if (lane == 0) {
                int fresh = StrobeRecorder.newLane();
                lane = tellLane(fresh, "{\"of\":", home.own, "coroutine") ? fresh : 0;
            }
        }
        if (lane == 0) {
            count(f.number, 0);
        }
        on.push(new StrobeSuspend(f.number, era, lane, home, key));
        in = false;
        if (lane == 0 || !open(ENTER, f)) {
            release();
            return null;
        }
        under = was;
        return this;
    }

    /** One goes on. */
    void goesOn(StrobeRecorder.Function f, Object key) {
        StrobeSuspend s = StrobeSuspend.wake(f.number, era, key);
        if (s == null) { // it began before it was traced
            s = new StrobeSuspend(f.number, era, 0, null, key);
        }
        on.push(s);
        if (s.lane != 0 && s.home == on) {
            moved();
        }
        in = false;
        release();
    }

    /** One returns, or an exception leaves it. */
    void leaves(StrobeRecorder.Function f, Object v, int flags) {
        StrobeLane on = this.on;
        StrobeSuspend s = on.pop(f.number);
        boolean rests = s != null && flags == 0 && StrobeSuspend.isMark(v);
        if (rests) {
            s.rest();
        }
        boolean ends = s != null && s.lane != 0 && !rests;
        if (s != null && s.lost() && !rests) {
            count(f.number, 1);
        }
        in = false;
        boolean written = ends && open(EXIT, f);
        if (written) {
            aux = (int) Math.min(s.rested / 1000, Integer.MAX_VALUE);
            this.flags = flags;
            object(v);
            publish(EXIT, f.number, s.lane, flags);
            writing = false;
            s.home.give(s.lane);
        }
        if (s != null) {
            on.now = s.before;
            if (s.lane != 0 && s.home == on && (rests || s.rested > 0)) {
                in = true;
                moved();
                in = false;
            }
        }
        release();
    }

    /** Says which lane the thread is on now, for what others than its calls say of it. Is called with in set. */
    private void moved() {
        if (hasRoom(64)) {
            U.putLong(next, System.nanoTime());
            at = next + 32;
            under = aux = 0;
            publish(SWITCH, 0, on.now, 0);
        }
    }

    /** Whether there is room for a record. Is called with in set. */
    private boolean hasRoom(int need) {
        if (writing) {
            wipe(next, at);
            writing = false;
        }
        return (next + need <= end || turn(need, false)) && (name == null || tellThread());
    }

    /** A record's length is written last. */
    private void publish(int kind, int number, int lane, int flags) {
        long from = next;
        int used = (int) (at - from), length = used + 7 & ~7;
        U.putInt(from + 8, number);
        U.putInt(from + 12, lane);
        U.putInt(from + 16, under);
        U.putInt(from + 20, aux);
        U.putInt(from + 24, kind | flags << 8 | (length - used) << 16);
        U.putIntRelease(null, from + 28, length);
        next = from + length;
    }

    /** Writes a whole record of bytes. */
    boolean record(int kind, int number, int lane, byte[] b, int from, int n) {
        if (next + n + 64 > end && !turn(n + 64, true)) {
            return false;
        }
        long start = next;
        int length = 32 + n + 7 & ~7;
        U.putLong(start, System.nanoTime());
        U.putInt(start + 8, number);
        U.putInt(start + 12, lane);
        U.putLong(start + 16, 0);
        U.putInt(start + 24, kind | (length - 32 - n) << 16);
        for (int i = 0; i < n; i++) {
            U.putByte(start + 32 + i, b[from + i]);
        }
        U.putIntRelease(null, start + 28, length);
        next = start + length;
        return true;
    }

    /** Tells of the thread's own lane. */
    private boolean tellThread() {
        if (!tellLane(own.own, "{\"tid\":", StrobeRecorder.tid(), name)) {
            return false;
        }
        name = null;
        return true;
    }

    /** Tells of a lane. */
    private boolean tellLane(int lane, String what, int of, String name) {
        if (next + ROOM > end && !turn(ROOM, false)) {
            return false;
        }
        if (writing) {
            wipe(next, at);
            writing = false;
        }
        U.putLong(next, System.nanoTime());
        at = next + 32;
        ascii(what);
        integer(of);
        ascii(",\"name\":");
        text(name);
        byte1('}');
        under = aux = 0;
        publish(LANE, 0, lane, 0);
        return true;
    }

    /** Goes on in the next segment. */
    private boolean turn(int need, boolean force) {
        long made = StrobeRecorder.turn(stream, sequence + 1, force);
        if (made == 0) {
            return false;
        }
        sequence++;
        if (segment != 0) {
            U.putLong(next, System.nanoTime());
            U.putLong(next + 8, 0);
            U.putLong(next + 16, 0);
            U.putInt(next + 24, NEXT);
            U.putIntRelease(null, next + 28, 32);
            StrobeRecorder.close(segment, size);
        }
        segment = made;
        size = U.getInt(made + 8) & 0xFFFFFFFFL;
        next = made + 16;
        end = made + size - 32;
        flushLost();
        return next + need <= end;
    }

    // --- what could not be written

    private void count(int number, int which) {
        if (lost == null) {
            lost = new HashMap<>();
        }
        long[] n = lost.get(number);
        if (n == null) {
            lost.put(number, n = new long[3]);
        }
        n[which]++;
    }

    /** An exit whose enter is not there is not written either. */
    private boolean skips(int number) {
        long[] n = lost.get(number);
        if (n == null || n[2] == 0) {
            return false;
        }
        n[2]--;
        n[1]++;
        return true;
    }

    void flushLost() {
        if (lost == null || next + ROOM > end) {
            return;
        }
        int most = 500;
        boolean any = false;
        for (var e : lost.entrySet()) {
            long[] n = e.getValue();
            if (n[0] == 0 && n[1] == 0 || most-- == 0) {
                continue;
            }
            if (!any) {
                U.putLong(next, System.nanoTime());
                at = next + 32;
                ascii("{\"calls\":{");
            } else {
                byte1(',');
            }
            any = true;
            byte1('"');
            integer(e.getKey());
            ascii("\":[");
            integer(n[0]);
            byte1(',');
            integer(n[1]);
            ascii(",0]");
            n[0] = n[1] = 0;
        }
        if (any) {
            ascii("}}");
            under = aux = 0;
            publish(LOST, 0, own.own, 0);
        }
    }

    // --- values

    void key() {
        StrobeText[] keys = function.keys;
        if (keyed < keys.length) {
            put(keys[keyed++]);
        }
    }

    void object(Object v) {
        long before = at;
        in = true;
        try {
            if (function == null) {
                StrobeValues.write(this, v, 3);
            } else {
                StrobeBrief brief = function.brief;
                StrobeValues.write(this, v, brief.begin(this, function));
                brief.end(this, at - before);
            }
        } catch (Throwable e) {
            long reached = at;
            at = before;
            wipe(before, reached);
            unreadable();
        } finally {
            in = false;
        }
    }
}
