package jdk.internal.vm;

/** What JDK 21 and newer have; only compiled against. */
public class Continuation {
    public static native void pin();

    public static native void unpin();
}
