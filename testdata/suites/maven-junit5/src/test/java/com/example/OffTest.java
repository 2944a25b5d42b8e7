package com.example;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

@Disabled("all of it")
class OffTest {
    @Test
    void one() {}

    @Test
    void two() {}
}
