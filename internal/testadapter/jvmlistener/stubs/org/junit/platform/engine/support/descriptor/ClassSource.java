package org.junit.platform.engine.support.descriptor;

public class ClassSource implements org.junit.platform.engine.TestSource {
    public final String getClassName() {
        return null;
    }
}
