package strobe.test;

import org.junit.runner.Description;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Tells of the tests that Surefire runs with JUnit 4 itself; Surefire is told its name. */
public final class JUnit4Listener extends RunListener {
    private final ThreadLocal<Failure> failed = new ThreadLocal<>();
    private final ThreadLocal<String> assumed = new ThreadLocal<>();
    private final ThreadLocal<Boolean> running = new ThreadLocal<>();

    @Override
    public void testStarted(Description d) {
        failed.remove();
        assumed.remove();
        running.set(true);
        Events.started(d.getClassName(), id(d), name(d));
    }

    @Override
    public void testFailure(Failure f) {
        if (running.get() != null) {
            if (failed.get() == null) {
                failed.set(f);
            }
            return;
        }
        Description d = f.getDescription();
        Events.ended(d.getClassName(), id(d), name(d), f.getException(), "setup");
    }

    @Override
    public void testAssumptionFailure(Failure f) {
        if (running.get() != null) {
            assumed.set(String.valueOf(f.getException().getMessage()));
            return;
        }
        testsBelow(f.getDescription(), String.valueOf(f.getException().getMessage()));
    }

    private void testsBelow(Description d, String reason) {
        if (d.getChildren().isEmpty()) {
            Events.skipped(d.getClassName(), id(d), name(d), reason);
        }
        for (Description below : d.getChildren()) {
            testsBelow(below, reason);
        }
    }

    @Override
    public void testFinished(Description d) {
        running.remove();
        Failure f = failed.get();
        if (f == null && assumed.get() != null) {
            Events.skipped(d.getClassName(), id(d), name(d), assumed.get());
        } else {
            Events.ended(d.getClassName(), id(d), name(d), f == null ? null : f.getException(), "exception");
        }
    }

    @Override
    public void testIgnored(Description d) {
        org.junit.Ignore ignore = d.getAnnotation(org.junit.Ignore.class);
        testsBelow(d, ignore == null ? "" : ignore.value());
    }

    private static String name(Description d) {
        return d.getMethodName() == null ? d.getDisplayName() : d.getMethodName();
    }

    private static String id(Description d) {
        return d.getMethodName() == null ? d.getClassName() : d.getClassName() + "#" + d.getMethodName();
    }
}
