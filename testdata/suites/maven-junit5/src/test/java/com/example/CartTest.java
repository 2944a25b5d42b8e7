package com.example;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.stream.Stream;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CartTest {
    @Test
    void adds() {
        System.out.println("adding \u2713");
        assertEquals(5, new Cart().add(5));
    }

    @Test
    @DisplayName("the total is wrong")
    void total() {
        System.err.println("before the sum");
        Cart cart = new Cart();
        cart.add(1);
        assertEquals(4, cart.add(2), "the sum");
    }

    @Test
    void throwsUp() {
        new Cart().add(-1);
    }

    @Test
    void several() {
        assertAll(() -> assertEquals("a", "b"), () -> assertEquals(1, 2));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void prices(int price) {
        assertEquals(price % 2, new Cart().add(price) % 2);
        assertEquals(1, price % 2);
    }

    @Disabled("not yet")
    @Test
    void later() {}

    @Test
    void assumed() {
        assumeTrue(false, "only elsewhere");
    }

    @TestFactory
    Stream<DynamicTest> made() {
        return Stream.of("x", "y").map(s -> DynamicTest.dynamicTest("of " + s, () -> assertEquals("x", s)));
    }

    @Nested
    class Empty {
        @Test
        void isZero() {
            assertEquals(0, new Cart().add(0));
        }
    }
}
