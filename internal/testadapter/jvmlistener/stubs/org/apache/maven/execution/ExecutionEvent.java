package org.apache.maven.execution;

public interface ExecutionEvent {
    enum Type { SessionEnded, MojoStarted }

    Type getType();

    org.apache.maven.plugin.MojoExecution getMojoExecution();

    org.apache.maven.project.MavenProject getProject();
}
