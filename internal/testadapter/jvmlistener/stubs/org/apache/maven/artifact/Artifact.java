package org.apache.maven.artifact;

public interface Artifact {
    String getGroupId();

    String getArtifactId();
}
