package org.testng;

public interface ITestListener extends ITestNGListener {
    void onTestStart(ITestResult r);

    void onTestSuccess(ITestResult r);

    void onTestFailure(ITestResult r);

    void onTestSkipped(ITestResult r);

    void onTestFailedButWithinSuccessPercentage(ITestResult r);

    void onStart(ITestContext c);

    void onFinish(ITestContext c);
}
