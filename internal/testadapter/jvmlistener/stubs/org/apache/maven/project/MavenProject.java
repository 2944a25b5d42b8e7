package org.apache.maven.project;

public class MavenProject {
    public String getArtifactId() {
        return null;
    }

    public java.util.Properties getProperties() {
        return null;
    }

    public java.util.Set<org.apache.maven.artifact.Artifact> getArtifacts() {
        return null;
    }
}
