/**
 * Starts children in every way: family.c, family.js and family.py are the same. The argument is a program of machine
 * code, "leaf N" or "end N".
 */
class family {
    static int own(int n) {
        return n;
    }

    static int leaf(int n) {
        return n;
    }

    static void start(String... command) throws Exception {
        new ProcessBuilder(command).inheritIO().start().waitFor();
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 1) {
            leaf(Integer.parseInt(args[1]));
            System.exit(args[0].equals("end") ? 6 : 0);
        }
        String java = ProcessHandle.current().info().command().get(), path = System.getProperty("java.class.path");
        own(1);
        start(java, "-cp", path, "family", "leaf", "3");
        start("/bin/sh", "-c", "true; '" + java + "' -cp '" + path + "' family leaf 4; true");
        if (args.length > 0) {
            start(args[0], "leaf", "5");
        }
        own(7);
        System.exit(6);
    }
}
