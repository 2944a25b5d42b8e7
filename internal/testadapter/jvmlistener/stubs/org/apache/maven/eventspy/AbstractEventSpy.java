package org.apache.maven.eventspy;

public abstract class AbstractEventSpy implements EventSpy {
    public void onEvent(Object event) throws Exception {}
}
