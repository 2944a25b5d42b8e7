package wide;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A graph of which every node leads to all others, handed on in each call; and a method that is called once. */
public class Wide {
    static class Node {
        final int id;
        final String label;
        List<Node> next;
        final Map<String, Object> attributes = new HashMap<>();

        Node(int i) {
            id = i;
            label = "node " + i;
            attributes.put("kind", "wide");
            attributes.put("weights", new int[] {i, i + 1, i + 2});
        }
    }

    static Node walk(Node node, String text, boolean flag) {
        return node;
    }

    static int once(Node node) {
        return 1;
    }

    public static void main(String[] args) {
        List<Node> all = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            all.add(new Node(i));
        }
        for (Node n : all) {
            n.next = all;
        }
        for (int i = 0; i < 3000; i++) {
            walk(all.get(i % 60), "text " + i, i % 2 == 0);
        }
        once(all.get(0));
    }
}
