package java.lang;

/** Bytes to be copied in words of eight: what is behind the last one is overwritten by what follows. */
final class StrobeText {
    final long[] words;
    final int length;

    StrobeText(byte[] b, int at, int n) {
        words = new long[(n + 7) / 8];
        length = n;
        for (int i = 0; i < n; i++) {
            words[i >> 3] |= (b[at + i] & 255L) << (8 * (i & 7));
        }
    }

    /** Of a text in ASCII. */
    static StrobeText of(String s) {
        byte[] b = new byte[s.length()];
        for (int i = 0; i < b.length; i++) {
            b[i] = (byte) s.charAt(i);
        }
        return new StrobeText(b, 0, b.length);
    }
}
