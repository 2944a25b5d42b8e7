package com.example;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class BrokenTest {
    @BeforeAll
    static void prepare() {
        throw new IllegalStateException("no database");
    }

    @Test
    void never() {}
}
