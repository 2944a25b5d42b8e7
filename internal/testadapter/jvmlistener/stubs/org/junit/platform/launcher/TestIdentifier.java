package org.junit.platform.launcher;

public final class TestIdentifier {
    public String getUniqueId() {
        return null;
    }

    public String getDisplayName() {
        return null;
    }

    public boolean isTest() {
        return false;
    }

    public java.util.Optional<org.junit.platform.engine.TestSource> getSource() {
        return null;
    }
}
