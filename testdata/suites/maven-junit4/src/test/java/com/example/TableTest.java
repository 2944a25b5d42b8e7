package com.example;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

@RunWith(Parameterized.class)
public class TableTest {
    @Parameterized.Parameters
    public static Iterable<Integer> data() {
        return Arrays.asList(1, 2);
    }

    @Parameterized.Parameter
    public int value;

    @Test
    public void isOdd() {
        assertEquals(1, value % 2);
    }
}
