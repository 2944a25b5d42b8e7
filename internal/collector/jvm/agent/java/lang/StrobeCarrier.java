package java.lang;

import jdk.internal.misc.CarrierThreadLocal;
import jdk.internal.vm.Continuation;

/**
 * Streams of threads that carry virtual ones, of JDK 21 and newer. A virtual thread that writes a record is pinned to its
 * carrier for that time, whatever it waits for: the stream is the carrier's.
 */
final class StrobeCarrier extends CarrierThreadLocal<StrobeThread> {
    static ThreadLocal<StrobeThread> local() {
        return new StrobeCarrier();
    }

    static void pin() {
        Continuation.pin();
    }

    static void unpin() {
        Continuation.unpin();
    }
}
