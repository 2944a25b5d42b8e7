package strobe.maven;

import java.io.File;
import javax.inject.Named;
import javax.inject.Singleton;
import org.apache.maven.artifact.Artifact;
import org.apache.maven.eventspy.AbstractEventSpy;
import org.apache.maven.execution.ExecutionEvent;
import org.apache.maven.plugin.MojoExecution;
import org.apache.maven.project.MavenProject;
import org.codehaus.plexus.util.xml.Xpp3Dom;
import strobe.test.Events;

/**
 * Runs in Maven: tells what it does, and puts our listener into the tests' class path. The project's files stay as they
 * are: the configuration of Surefire and Failsafe is changed in memory, just before they start.
 */
@Named
@Singleton
public final class Spy extends AbstractEventSpy {
    @Override
    public void onEvent(Object event) {
        try {
            if (event instanceof ExecutionEvent) {
                told((ExecutionEvent) event);
            }
        } catch (Throwable t) {
            Events.line("{\"e\":\"note\",\"text\":" + Events.quote("Strobe's extension of Maven: " + t) + "}");
        }
    }

    private void told(ExecutionEvent e) throws Exception {
        if (e.getType() == ExecutionEvent.Type.SessionEnded) {
            Events.line("{\"e\":\"done\"}");
        }
        if (e.getType() != ExecutionEvent.Type.MojoStarted) {
            return;
        }
        MojoExecution mojo = e.getMojoExecution();
        MavenProject project = e.getProject();
        String plugin = mojo.getArtifactId();
        boolean tests = plugin.equals("maven-surefire-plugin") && mojo.getGoal().equals("test")
                || plugin.equals("maven-failsafe-plugin") && mojo.getGoal().equals("integration-test");
        Events.line("{\"e\":\"" + (tests ? "testing" : "goal") + "\",\"text\":"
                + Events.quote(plugin.replaceAll("^maven-|-plugin$|-maven-plugin$", "") + ":" + mojo.getGoal() + " @ "
                        + project.getArtifactId()) + "}");
        if (tests) {
            listen(mojo, project);
        }
    }

    private void listen(MojoExecution mojo, MavenProject project) throws Exception {
        Xpp3Dom config = mojo.getConfiguration();
        if (config == null) {
            return;
        }
        boolean surefire = mojo.getArtifactId().equals("maven-surefire-plugin");
        if (surefire && "skip".equals(System.getProperty("strobe.surefire"))) {
            child(config, "skipTests").setValue("true"); // only Failsafe's are asked for
            return;
        }
        File jar = new File(Spy.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Xpp3Dom paths = child(config, "additionalClasspathElements");
        if (paths.getChildCount() == 0) {
            paths.setValue(null);
        }
        add(paths, "additionalClasspathElement", jar.getPath());
        if (!value(config, "rerunFailingTestsCount", project).matches("0?")) {
            Events.line("{\"e\":\"reruns\"}");
        }
        boolean junit4 = false;
        boolean other = false;
        for (Artifact a : project.getArtifacts()) {
            junit4 |= a.getArtifactId().equals("junit") || a.getArtifactId().equals("junit-dep");
            other |= a.getGroupId().startsWith("org.junit.") || a.getArtifactId().equals("testng");
        }
        if (junit4 && !other) {
            Xpp3Dom properties = child(config, "properties");
            for (Xpp3Dom p : properties.getChildren()) {
                Xpp3Dom name = p.getChild("name");
                if (name != null && "listener".equals(name.getValue()) && p.getChild("value") != null) {
                    Xpp3Dom value = p.getChild("value");
                    value.setValue(value.getValue() + ",strobe.test.JUnit4Listener");
                    return;
                }
            }
            Xpp3Dom p = new Xpp3Dom("property");
            add(p, "name", "listener");
            add(p, "value", "strobe.test.JUnit4Listener");
            properties.addChild(p);
        }
    }

    /** A number of the configuration, which may be a property's. */
    private static String value(Xpp3Dom config, String name, MavenProject project) {
        String v = config.getChild(name) == null ? null : config.getChild(name).getValue();
        if (v != null && v.startsWith("${")) {
            String property = v.substring(2, v.length() - 1);
            v = System.getProperty(property, project.getProperties().getProperty(property));
        }
        return v == null ? "" : v;
    }

    private static Xpp3Dom child(Xpp3Dom in, String name) {
        if (in.getChild(name) == null) {
            in.addChild(new Xpp3Dom(name));
        }
        return in.getChild(name);
    }

    private static void add(Xpp3Dom to, String name, String value) {
        Xpp3Dom c = new Xpp3Dom(name);
        c.setValue(value);
        to.addChild(c);
    }
}
