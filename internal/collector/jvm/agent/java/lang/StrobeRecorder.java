package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What woven methods call: the records of docs/agentlink.md. It stands in java.lang and on the boot loader so that every
 * class of every loader and module finds it. No exception of its own reaches the program, and nothing of the program's
 * runs in it.
 */
public final class StrobeRecorder {
    static final Unsafe U = Unsafe.getUnsafe();

    /**
     * Which start of the agent it is; 0 before the first and after the link's end: woven code that still runs then records
     * nothing. What threads have of an earlier one is not used any more.
     */
    static volatile int era;
    private static int eras;

    /** What virtual threads are instances of; null where there are none. */
    static final Class<?> VIRTUAL = virtual();

    /** Streams: of threads that are no virtual ones, on which the virtual ones run. */
    private static final ThreadLocal<StrobeThread> LOCAL = VIRTUAL == null ? new ThreadLocal<>() : StrobeCarriers.local();

    /** Lanes of virtual threads. */
    private static final ThreadLocal<StrobeLane> LANES = new ThreadLocal<>();
    private static final Object LOCK = new Object();
    private static Function[] functions = new Function[256];
    private static StrobeThread own; // the stream in which functions are told of; LOCK
    private static StrobeThread[] free = new StrobeThread[16]; // streams of threads that ended; LOCK
    private static int freed, streams, lanes; // LOCK

    /** A method that is traced: how the arguments' names are written, and how deep values are followed. */
    static final class Function {
        int number, depth, need;
        StrobeText[] keys;
        boolean told, asked; // asked: somebody asked for that depth
        StrobeBrief brief = new StrobeBrief();
    }

    private StrobeRecorder() { }

    /** Begins; called by the agent, at a launch in the first moment in which classes of the program could run. */
    static void start() {
        synchronized (LOCK) {
            functions = new Function[256];
            freed = lanes = 0;
            streams = 1;
            own = new StrobeThread(1, ++eras);
        }
        tid(); // natives are looked for once, now: later that would be in the middle of a call
        fields(StrobeText.class);
        close(0, 0);
        era = eras;
    }

    /** How many values were told briefly, in the upper half, and of how many methods; called by the agent. */
    static long cut() {
        return StrobeBrief.cut();
    }

    static void stop() {
        era = 0;
    }

    private static Class<?> virtual() {
        try {
            return Runtime.version().feature() < 21 ? null : Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (Throwable e) {
            return null;
        }
    }

    /** Learns of methods. For each: number, depth, count of names, their bytes with lengths, then what is told of it. */
    static void define(byte[] b) {
        int at = 0;
        synchronized (LOCK) {
            while (at < b.length) {
                Function f = new Function();
                f.number = number(b, at);
                f.depth = b[at + 4] & 63;
                f.asked = (b[at + 4] & 64) != 0;
                f.keys = new StrobeText[b[at + 5] & 255];
                at += 6;
                for (int i = 0; i < f.keys.length; i++) {
                    int n = b[at] & 255;
                    f.keys[i] = new StrobeText(b, at + 1, n);
                    at += 1 + n;
                }
                f.need = StrobeThread.ROOM + 128 * f.keys.length;
                int n = number(b, at);
                at += 4;
                if (f.number >= functions.length) {
                    Function[] more = new Function[Math.max(f.number + 1, 2 * functions.length)];
                    System.arraycopy(functions, 0, more, 0, functions.length);
                    functions = more;
                }
                Function was = functions[f.number];
                if (was != null) {
                    f.brief = was.brief;
                }
                if (was == null || !was.told) {
                    f.told = own.record(StrobeThread.FUNCTION, f.number, 0, b, at, n);
                } else {
                    f.told = true;
                }
                U.storeFence();
                functions[f.number] = f;
                at += n;
            }
        }
    }

    private static int number(byte[] b, int at) {
        return b[at] & 255 | (b[at + 1] & 255) << 8 | (b[at + 2] & 255) << 16 | b[at + 3] << 24;
    }

    static boolean isVirtual(Thread t) {
        return VIRTUAL != null && VIRTUAL.isInstance(t);
    }

    /** The thread's stream, made at its first call; null where nothing is to be recorded now. */
    private static StrobeThread here() {
        if (isVirtual(Thread.currentThread())) {
            return era != 0 ? onCarrier() : null;
        }
        StrobeThread t = LOCAL.get();
        if (t == null || t.era != era) {
            t = first(Thread.currentThread().getName());
        }
        return t == null || t.in ? null : t;
    }

    private static StrobeThread first(String name) {
        StrobeThread t = LOCAL.get();
        if (era == 0 || t != null && t.in) {
            return null;
        }
        int lane;
        synchronized (LOCK) {
            lane = ++lanes;
            t = freed > 0 ? free[--freed] : new StrobeThread(++streams, eras);
        }
        t.begins(lane, name);
        LOCAL.set(t);
        t.prepare(0, null, StrobeThread.ROOM);
        return t;
    }

    /** The stream of the thread that carries this virtual one, which stays on it until the record is there. */
    private static StrobeThread onCarrier() {
        StrobeCarriers.pin();
        StrobeThread t = null;
        boolean is = false;
        try {
            t = LOCAL.get();
            if (t == null || t.era != era) {
                t = first("carrier");
            }
            if (t == null || t.in) {
                return null;
            }
            t.in = true;
            StrobeLane lane = LANES.get();
            if (lane == null || lane.era != t.era) {
                lane = new StrobeLane(newLane(), t.era);
                LANES.set(lane);
            }
            is = t.carries(lane);
            return is ? t : null;
        } finally {
            if (!is) {
                StrobeCarriers.unpin();
            }
        }
    }

    static int newLane() {
        synchronized (LOCK) {
            return ++lanes;
        }
    }

    /** The thread ends: its stream is the next one's. */
    static void ended() {
        StrobeThread t = LOCAL.get();
        if (t == null || t.in) {
            return;
        }
        LOCAL.remove();
        if (t.era != era) {
            return;
        }
        t.flushLost();
        synchronized (LOCK) {
            if (freed == free.length) {
                StrobeThread[] more = new StrobeThread[2 * freed];
                System.arraycopy(free, 0, more, 0, freed);
                free = more;
            }
            free[freed++] = t;
        }
    }

    // --- called by woven code

    public static StrobeThread begin(int number) {
        try {
            StrobeThread t = here();
            if (t == null) {
                return null;
            }
            Function f = functions[number];
            if (f == null || !f.told || !t.open(StrobeThread.ENTER, f)) {
                t.release();
                return null;
            }
            return arguments(t);
        } catch (Throwable e) {
            return null;
        }
    }

    public static StrobeThread i(StrobeThread t, int v) {
        if (t != null) {
            t.key();
            t.integer(v);
        }
        return t;
    }

    public static StrobeThread j(StrobeThread t, long v) {
        if (t != null) {
            t.key();
            t.integer(v);
        }
        return t;
    }

    public static StrobeThread z(StrobeThread t, boolean v) {
        if (t != null) {
            t.key();
            t.truth(v);
        }
        return t;
    }

    public static StrobeThread c(StrobeThread t, char v) {
        if (t != null) {
            t.key();
            t.letter(v);
        }
        return t;
    }

    public static StrobeThread f(StrobeThread t, float v) {
        if (t != null) {
            try {
                t.key();
                t.fraction(v);
            } catch (Throwable e) {
                t.unreadable();
            }
        }
        return t;
    }

    public static StrobeThread d(StrobeThread t, double v) {
        if (t != null) {
            try {
                t.key();
                t.fraction(v);
            } catch (Throwable e) {
                t.unreadable();
            }
        }
        return t;
    }

    public static StrobeThread o(StrobeThread t, Object v) {
        if (t != null) {
            t.key();
            t.object(v);
        }
        return t;
    }

    public static void end(StrobeThread t) {
        if (t != null) {
            if (t.function.keys.length > 0) {
                t.byte1('}');
            }
            t.commit();
        }
    }

    private static StrobeThread exit(int number, int flags) {
        try {
            StrobeThread t = here();
            if (t == null) {
                return null;
            }
            Function f = functions[number];
            if (f == null || !f.told || !t.open(StrobeThread.EXIT, f)) {
                t.release();
                return null;
            }
            t.flags = flags;
            return t;
        } catch (Throwable e) {
            return null;
        }
    }

    public static void exitV(int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            t.nothing();
            t.commit();
        }
    }

    public static void exitI(int v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            t.integer(v);
            t.commit();
        }
    }

    public static void exitJ(long v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            t.integer(v);
            t.commit();
        }
    }

    public static void exitZ(boolean v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            t.truth(v);
            t.commit();
        }
    }

    public static void exitC(char v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            t.letter(v);
            t.commit();
        }
    }

    public static void exitF(float v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            try {
                t.fraction(v);
            } catch (Throwable e) {
                t.unreadable();
            }
            t.commit();
        }
    }

    public static void exitD(double v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            try {
                t.fraction(v);
            } catch (Throwable e) {
                t.unreadable();
            }
            t.commit();
        }
    }

    public static void exitO(Object v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            t.object(v);
            t.commit();
        }
    }

    public static void thrown(Throwable e, int n) {
        StrobeThread t = exit(n, StrobeThread.THROWN);
        if (t != null) {
            t.object(e);
            t.commit();
        }
    }

    /**
     * A suspend function of Kotlin's begins or goes on. What: 0, of is its last argument; 1, that is a continuation of its
     * own; 2, of is a suspend lambda itself.
     */
    public static StrobeThread beginS(int number, Object of, int what) {
        StrobeThread t = null;
        try {
            t = here();
            Function f = t == null ? null : functions[number];
            if (f == null || !f.told) {
                return none(t);
            }
            t.in = true;
            Object key = what == 1 ? StrobeSuspend.goesOn(of) : what == 2 && StrobeSuspend.hasBegun(of) ? of : null;
            if (key != null) {
                t.goesOn(f, key);
                return null;
            }
            return arguments(t.enters(f, of));
        } catch (Throwable e) {
            return broken(t);
        }
    }

    /** The stack or the memory was at its end. */
    private static StrobeThread broken(StrobeThread t) {
        if (t != null) {
            t.in = false;
        }
        return none(t);
    }

    private static StrobeThread none(StrobeThread t) {
        if (t != null) {
            t.release();
        }
        return null;
    }

    private static StrobeThread arguments(StrobeThread t) {
        if (t != null && t.function.keys.length > 0) {
            t.byte1('{');
        }
        return t;
    }

    /** A suspend function returns, or waits. */
    public static void exitS(Object v, int n) {
        left(v, n, 0);
    }

    /** An exception leaves a suspend function. */
    public static void thrownS(Throwable e, int n) {
        left(e, n, StrobeThread.THROWN);
    }

    private static void left(Object v, int n, int flags) {
        StrobeThread t = null;
        try {
            t = here();
            Function f = t == null ? null : functions[n];
            if (f == null || !f.told) {
                none(t);
                return;
            }
            t.in = true;
            t.leaves(f, v, flags);
        } catch (Throwable e) {
            broken(t);
        }
    }

    /** A suspend function that never goes on returns: where it waits, so does what it called last, and its result is that's. */
    public static void exitT(Object v, int n) {
        StrobeThread t = exit(n, 0);
        if (t != null) {
            if (StrobeSuspend.isMark(v)) {
                t.ascii("{\"$\":\"name\",\"v\":\"what it called last gives it\"}");
            } else {
                t.object(v);
            }
            t.commit();
        }
    }

    /** An exception that nobody caught is about to be told to the thread's handler, or to be printed. */
    public static void uncaught(Thread thread, Throwable e) {
        try {
            StrobeThread t = here();
            if (t == null) {
                return;
            }
            if (t.open(StrobeThread.CRASH, null)) {
                StrobeCrash.write(t, thread, e);
                t.commit();
            } else {
                t.release();
            }
        } catch (Throwable again) {
            // nothing of ours reaches the program
        }
    }

    /** Has this thread record nothing, or again. Returns what was. A virtual thread's carrier is what is meant. */
    static boolean quiet(boolean is) {
        StrobeThread t = LOCAL.get();
        if (t == null) {
            return false;
        }
        boolean was = t.in;
        t.in = is;
        return was;
    }

    /** The stream for a record of a logpoint, which is begun; null: there is none. */
    static StrobeThread forLog() {
        StrobeThread t = here();
        if (t == null || t.open(StrobeThread.LOG, null)) {
            return t;
        }
        t.release();
        return null;
    }

    // --- by the agent's library

    /** Makes segment q of a stream, waits for room as was asked, and returns where its mapping is; 0: there is none. */
    static native long turn(int stream, int q, boolean force);

    /** Lets a mapping go. */
    static native void close(long at, long size);

    /** The kernel's number of this thread. */
    static native int tid();

    /** Names and descriptors of a class's own fields of objects, without loading any class. */
    static native String[] fields(Class<?> c);

    /** Where an exception was made, innermost first, whatever its class overrides. */
    static native StackTraceElement[] trace(Throwable e);
}
