package strobe.test;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.testng.IConfigurationListener;
import org.testng.ITestContext;
import org.testng.ITestListener;
import org.testng.ITestResult;

/** Tells of TestNG's tests. TestNG finds it as a service. */
public final class TestNGListener implements ITestListener, IConfigurationListener {
    /** How often a test with data was called: its number, from 0 as TestNG's own. */
    private final Map<String, Integer> calls = new ConcurrentHashMap<>();
    private final Map<ITestResult, String> ids = new ConcurrentHashMap<>();

    private static String type(ITestResult r) {
        return r.getTestClass().getName();
    }

    private String id(ITestResult r) {
        String id = ids.get(r);
        if (id == null) {
            id = type(r) + "#" + r.getMethod().getMethodName();
            Object[] with = r.getParameters();
            if (with != null && with.length > 0) {
                id += "[" + (calls.merge(id, 1, Integer::sum) - 1) + "]";
            }
            ids.put(r, id);
        }
        return id;
    }

    /** With the arguments that are plain values: no toString of a user's runs. */
    private String name(ITestResult r) {
        String id = id(r);
        String name = id.substring(id.indexOf('#') + 1);
        if (!name.endsWith("]")) {
            return name;
        }
        StringBuilder b = new StringBuilder(name);
        for (Object o : r.getParameters()) {
            boolean plain = o == null || o instanceof String || o instanceof Number || o instanceof Boolean
                    || o instanceof Character;
            b.append(b.length() == name.length() ? " " : ", ").append(plain ? o : o.getClass().getSimpleName());
        }
        return b.toString();
    }

    @Override
    public void onTestStart(ITestResult r) {
        Events.started(type(r), id(r), name(r));
    }

    @Override
    public void onTestSuccess(ITestResult r) {
        Events.ended(type(r), id(r), name(r), null, "");
    }

    @Override
    public void onTestFailure(ITestResult r) {
        Throwable t = r.getThrowable();
        Events.ended(type(r), id(r), name(r), t == null ? new AssertionError("failed") : t, "exception");
    }

    @Override
    public void onTestSkipped(ITestResult r) {
        Throwable t = r.getThrowable();
        Events.skipped(type(r), id(r), name(r), t == null ? "" : t.getMessage());
    }

    @Override
    public void onTestFailedButWithinSuccessPercentage(ITestResult r) {
        onTestSuccess(r);
    }

    @Override
    public void onStart(ITestContext c) {}

    @Override
    public void onFinish(ITestContext c) {}

    @Override
    public void onConfigurationSuccess(ITestResult r) {}

    @Override
    public void onConfigurationFailure(ITestResult r) {
        String name = r.getMethod().getMethodName();
        Throwable t = r.getThrowable();
        Events.ended(type(r), type(r) + "#" + name, name, t == null ? new AssertionError("failed") : t, "setup");
    }

    @Override
    public void onConfigurationSkip(ITestResult r) {}
}
