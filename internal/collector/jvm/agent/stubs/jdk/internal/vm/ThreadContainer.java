package jdk.internal.vm;

import java.util.stream.Stream;

/** As of JDK 21. */
public abstract class ThreadContainer {
    public abstract Stream<Thread> threads();

    public final Stream<ThreadContainer> children() {
        return null;
    }
}
