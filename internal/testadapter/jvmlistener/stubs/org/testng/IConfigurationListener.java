package org.testng;

public interface IConfigurationListener extends ITestNGListener {
    void onConfigurationSuccess(ITestResult r);

    void onConfigurationFailure(ITestResult r);

    void onConfigurationSkip(ITestResult r);
}
