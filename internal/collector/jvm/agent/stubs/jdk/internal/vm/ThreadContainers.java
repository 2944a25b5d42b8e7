package jdk.internal.vm;

/** As of JDK 21. */
public class ThreadContainers {
    public static ThreadContainer root() {
        return null;
    }
}
