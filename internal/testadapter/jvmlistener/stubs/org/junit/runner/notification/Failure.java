package org.junit.runner.notification;

public class Failure {
    public org.junit.runner.Description getDescription() {
        return null;
    }

    public Throwable getException() {
        return null;
    }
}
