package org.testng;

public interface ITestResult {
    ITestNGMethod getMethod();

    Object[] getParameters();

    IClass getTestClass();

    Throwable getThrowable();
}
