package org.junit.runner;

public class Description {
    public String getClassName() {
        return null;
    }

    public String getMethodName() {
        return null;
    }

    public String getDisplayName() {
        return null;
    }

    public java.util.ArrayList<Description> getChildren() {
        return null;
    }

    public <T extends java.lang.annotation.Annotation> T getAnnotation(Class<T> type) {
        return null;
    }
}
