package org.codehaus.plexus.util.xml;

public class Xpp3Dom {
    public Xpp3Dom(String name) {}

    public String getValue() {
        return null;
    }

    public void setValue(String value) {}

    public Xpp3Dom getChild(String name) {
        return null;
    }

    public Xpp3Dom[] getChildren() {
        return null;
    }

    public int getChildCount() {
        return 0;
    }

    public void addChild(Xpp3Dom child) {}
}
