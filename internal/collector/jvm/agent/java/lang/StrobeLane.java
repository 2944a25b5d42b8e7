package java.lang;

/** What a thread, or a virtual one, does: the lane that its calls are on, and the suspend functions that run on it. */
final class StrobeLane {
    final int own, era; // its lane; StrobeRecorder.era
    boolean told; // of a virtual thread: the lane
    int now; // the lane of its next record
    StrobeSuspend top; // the innermost suspend function
    private int[] free = {}; // lanes for suspend functions that began here, told of and not in use; this
    private int freed;

    StrobeLane(int own, int era) {
        this.own = now = own;
        this.era = era;
    }

    /** Whose lane is for what begins now: the thread's that the outermost suspend function began on. */
    StrobeLane home() {
        return top != null && top.lane != 0 ? top.home : this;
    }

    /** A lane for a suspend function; 0: there is none. */
    synchronized int take() {
        return freed > 0 ? free[--freed] : 0;
    }

    synchronized void give(int lane) {
        if (freed == free.length) {
            int[] more = new int[2 * freed + 4];
            System.arraycopy(free, 0, more, 0, freed);
            free = more;
        }
        free[freed++] = lane;
    }

    /** A suspend function begins or goes on. */
    void push(StrobeSuspend s) {
        s.outer = top;
        s.before = now;
        top = s;
        if (s.lane != 0) {
            now = s.lane;
        }
    }

    /** One returns: what stands above it has lost its end. Null where its begin was not seen here. */
    StrobeSuspend pop(int number) {
        StrobeSuspend s = top;
        while (s != null && s.number != number) {
            s = s.outer;
        }
        if (s != null) {
            top = s.outer;
            s.outer = null;
            now = s.lane != 0 ? s.lane : s.before;
        }
        return s;
    }
}
