package org.junit.platform.launcher;

public interface TestExecutionListener {
    default void testPlanExecutionStarted(TestPlan p) {}

    default void testPlanExecutionFinished(TestPlan p) {}

    default void executionSkipped(TestIdentifier t, String reason) {}

    default void executionStarted(TestIdentifier t) {}

    default void executionFinished(TestIdentifier t, org.junit.platform.engine.TestExecutionResult r) {}
}
