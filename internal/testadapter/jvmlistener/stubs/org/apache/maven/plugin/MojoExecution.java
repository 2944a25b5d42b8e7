package org.apache.maven.plugin;

public class MojoExecution {
    public String getArtifactId() {
        return null;
    }

    public String getGoal() {
        return null;
    }

    public org.codehaus.plexus.util.xml.Xpp3Dom getConfiguration() {
        return null;
    }
}
