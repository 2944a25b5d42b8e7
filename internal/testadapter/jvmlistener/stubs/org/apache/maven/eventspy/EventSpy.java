package org.apache.maven.eventspy;

public interface EventSpy {}
