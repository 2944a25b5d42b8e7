package rec;

/** A recorder that counts, and tells at the end: what began is what ended. */
public final class Rec {
    public static final class T { }

    private static final T RECORD = new T();
    private static long begins, ends, exits, throwns, sum;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread() {
            @Override
            public void run() {
                System.err.println("begins=" + (begins == ends) + " exits=" + (begins - exits - throwns)
                    + " some=" + (begins > 0) + " sum=" + (sum != 0));
            }
        });
    }

    public static synchronized T begin(int n) { begins++; return RECORD; }
    public static T i(T t, int v) { sum += v; return t; }
    public static T j(T t, long v) { sum += v; return t; }
    public static T f(T t, float v) { sum += (long) v; return t; }
    public static T d(T t, double v) { sum += (long) v; return t; }
    public static T z(T t, boolean v) { sum += v ? 1 : 0; return t; }
    public static T c(T t, char v) { sum += v; return t; }
    public static T o(T t, Object v) { sum += v == null ? 0 : 1; return t; }
    public static synchronized void end(T t) { ends++; }
    public static synchronized void exitV(int n) { exits++; }
    public static synchronized void exitI(int v, int n) { exits++; sum += v; }
    public static synchronized void exitJ(long v, int n) { exits++; sum += v; }
    public static synchronized void exitF(float v, int n) { exits++; sum += (long) v; }
    public static synchronized void exitD(double v, int n) { exits++; sum += (long) v; }
    public static synchronized void exitZ(boolean v, int n) { exits++; }
    public static synchronized void exitC(char v, int n) { exits++; sum += v; }
    public static synchronized void exitO(Object v, int n) { exits++; }
    public static synchronized void thrown(Throwable t, int n) { throwns++; }
}
