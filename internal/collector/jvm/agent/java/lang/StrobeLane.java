package java.lang;

/** What a thread, or a virtual one, does: the lane that its calls are on, and the suspend functions that run on it. */
final class StrobeLane {
    final int own, era; // its lane; StrobeRecorder.era
    boolean told; // of a virtual thread: the lane
    int now; // the lane of its next record
    StrobeSuspend top; // the innermost suspend function

    StrobeLane(int own, int era) {
        this.own = now = own;
        this.era = era;
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
