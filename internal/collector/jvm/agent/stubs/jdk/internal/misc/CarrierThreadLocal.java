package jdk.internal.misc;

/** What JDK 21 and newer have; only compiled against. */
public class CarrierThreadLocal<T> extends ThreadLocal<T> {
}
