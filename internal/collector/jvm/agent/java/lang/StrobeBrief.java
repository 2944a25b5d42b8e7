package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Which values of a method are told briefly. One whose values lead to much would slow its program down many times over: its
 * first calls have all of them, later ones what is near, which is counted, and once in a while all again, so that one that
 * is called rarely always has all. One whose depth was asked for has all in every call.
 */
final class StrobeBrief {
    private static final Unsafe U = StrobeRecorder.U;

    /** Bytes of one method before that; of all, before each has only EACH. */
    private static final long SPEND = 256 << 10, ALL = 2 << 20, EACH = 8 << 10;
    /** Values told with NEAR parts before they are told with HOT ones. */
    private static final int OFTEN = 500, NEAR = 8, NEAR_DEPTH = 2, NEAR_BYTES = 1000, HOT = 6, HOT_DEPTH = 1,
        HOT_BYTES = 400;
    /** After so many nanoseconds a method may have all again, and of all methods TURNS within that time. */
    private static final long AGAIN = 1_000_000_000L;
    private static final int TURNS = 32;

    /** Values and methods that were told briefly. */
    private static final long COUNTS = U.allocateMemory(16);
    private static long all, turnsFrom; // threads race for them: a few values more are told whole
    private static int turns;

    static {
        U.setMemory(COUNTS, 16, (byte) 0);
    }

    private long spent, since;
    private int often;
    private boolean wasCut;

    /** StrobeRecorder.cut. */
    static long cut() {
        return Math.min(U.getLong(COUNTS), Integer.MAX_VALUE) << 32 | U.getLong(COUNTS + 8);
    }

    /** Is called before a value is written, and gives its depth. */
    int begin(StrobeThread t, StrobeRecorder.Function f) {
        if (t.parts != Integer.MAX_VALUE) {
            t.widen(); // the stack was at its end where that was to be done
        }
        if (spent <= EACH || all <= ALL && spent <= SPEND || f.asked || turn()) {
            return f.depth;
        }
        boolean hot = often >= OFTEN;
        often++;
        t.narrow(hot ? HOT_BYTES : NEAR_BYTES, hot ? HOT : NEAR);
        return Math.min(f.depth, hot ? HOT_DEPTH : NEAR_DEPTH);
    }

    void end(StrobeThread t, long bytes) {
        if (t.parts == Integer.MAX_VALUE) {
            spent += bytes;
            all += bytes;
            return;
        }
        t.widen();
        if (t.left > 0) {
            U.getAndAddLong(null, COUNTS, 1);
            if (!wasCut) {
                wasCut = true;
                U.getAndAddLong(null, COUNTS + 8, 1);
            }
        }
    }

    private boolean turn() {
        long now = System.nanoTime();
        if (now - since < AGAIN && since != 0) {
            return false;
        }
        if (now - turnsFrom >= AGAIN) {
            turns = 0;
            turnsFrom = now;
        }
        if (turns >= TURNS) {
            return false;
        }
        turns++;
        since = now;
        return true;
    }
}
