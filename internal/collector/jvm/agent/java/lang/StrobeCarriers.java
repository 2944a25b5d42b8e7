package java.lang;

/** StrobeCarrier by the way of a class that every JDK can load. */
final class StrobeCarriers {
    private StrobeCarriers() { }

    static ThreadLocal<StrobeThread> local() {
        return StrobeCarrier.local();
    }

    static void pin() {
        StrobeCarrier.pin();
    }

    static void unpin() {
        StrobeCarrier.unpin();
    }
}
