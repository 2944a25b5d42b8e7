package strobe.test;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Tells of the tests of every engine of the JUnit platform. Launchers find it as a service. */
public final class PlatformListener implements TestExecutionListener {
    private static final Pattern NUMBER = Pattern.compile(":#(\\d+)\\]");
    /** The listener whose plan runs: a test that runs a launcher itself makes another, which is not told. */
    private static final AtomicReference<PlatformListener> ACTIVE = new AtomicReference<>();

    private volatile TestPlan plan;

    @Override
    public void testPlanExecutionStarted(TestPlan p) {
        if (ACTIVE.compareAndSet(null, this)) {
            plan = p;
        }
    }

    @Override
    public void testPlanExecutionFinished(TestPlan p) {
        plan = null;
        ACTIVE.compareAndSet(this, null);
    }

    @Override
    public void executionStarted(TestIdentifier t) {
        if (plan != null && t.isTest()) {
            Name n = new Name(t);
            Events.started(n.type, n.id, n.name);
        }
    }

    @Override
    public void executionSkipped(TestIdentifier t, String reason) {
        if (plan == null) {
            return;
        }
        boolean told = false;
        if (!t.isTest()) {
            for (TestIdentifier below : plan.getDescendants(t)) {
                if (below.isTest()) {
                    skip(below, reason, false);
                    told = true;
                }
            }
        }
        if (!told) {
            skip(t, reason, true);
        }
    }

    private void skip(TestIdentifier t, String reason, boolean counted) {
        Name n = new Name(t);
        Events.skipped(n.type, n.id, n.name, reason, counted);
    }

    @Override
    public void executionFinished(TestIdentifier t, TestExecutionResult result) {
        if (plan == null) {
            return;
        }
        Throwable thrown = result.getThrowable().orElse(null);
        boolean aborted = result.getStatus() == TestExecutionResult.Status.ABORTED;
        boolean failed = result.getStatus() == TestExecutionResult.Status.FAILED;
        if (!t.isTest() && !failed && !aborted) {
            return;
        }
        Name n = new Name(t);
        if (aborted) {
            Events.skipped(n.type, n.id, n.name, thrown == null ? "" : thrown.getMessage());
        } else {
            Throwable why = failed && thrown == null ? new AssertionError("failed without an exception") : thrown;
            Events.ended(n.type, n.id, n.name, failed ? why : null, t.isTest() ? "exception" : "setup");
        }
    }

    /** What a test is called. */
    private final class Name {
        final String type;
        final String id;
        final String name;

        Name(TestIdentifier t) {
            String found = "";
            String method = "";
            for (Optional<TestIdentifier> at = Optional.of(t); at.isPresent(); at = plan.getParent(at.get())) {
                TestSource source = at.get().getSource().orElse(null);
                if (source instanceof MethodSource) {
                    MethodSource m = (MethodSource) source;
                    found = m.getClassName();
                    method = m.getMethodName() + types(m.getMethodParameterTypes());
                    break;
                }
                if (source instanceof ClassSource) {
                    found = ((ClassSource) source).getClassName();
                    break;
                }
            }
            type = found;
            String shown = t.getDisplayName();
            if (!t.getUniqueId().startsWith("[engine:junit-jupiter]") && t.isTest()) {
                int class_ = shown.lastIndexOf('(');
                method = class_ > 0 && shown.endsWith(")") ? shown.substring(0, class_) : shown;
                name = method;
            } else if (method.isEmpty()) {
                name = shown;
            } else {
                Matcher m = NUMBER.matcher(t.getUniqueId());
                StringBuilder numbers = new StringBuilder();
                while (m.find()) {
                    numbers.append('[').append(m.group(1)).append(']');
                }
                String first = "[" + numbers.toString().replaceAll("^\\[|\\]$", "") + "] ";
                name = numbers.length() == 0 ? method : method + numbers + " "
                        + (shown.startsWith(first) ? shown.substring(first.length()) : shown);
                method += numbers;
            }
            id = method.isEmpty() ? (type.isEmpty() ? shown : type) : type + "#" + method;
        }

        private String types(String list) {
            if (list == null || list.isEmpty()) {
                return "";
            }
            return "(" + list.replaceAll("[\\w.]*[.$](\\w)", "$1").replace(" ", "") + ")";
        }
    }
}
