package org.junit.runner.notification;

import org.junit.runner.Description;

public class RunListener {
    public void testStarted(Description d) throws Exception {}

    public void testFinished(Description d) throws Exception {}

    public void testFailure(Failure f) throws Exception {}

    public void testAssumptionFailure(Failure f) {}

    public void testIgnored(Description d) throws Exception {}
}
