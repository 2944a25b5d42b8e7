package com.example;

import static org.junit.Assert.assertEquals;

import org.junit.Assume;
import org.junit.Ignore;
import org.junit.Test;

public class OldTest {
    @Test
    public void adds() {
        System.out.println("adding");
        assertEquals(4, 2 + 2);
    }

    @Test
    public void subtracts() {
        assertEquals("the rest", 1, 3 - 1);
    }

    @Test
    public void compares() {
        assertEquals("left", "right");
    }

    @Ignore("not yet")
    @Test
    public void later() {}

    @Test
    public void assumed() {
        Assume.assumeTrue("only elsewhere", false);
    }
}
