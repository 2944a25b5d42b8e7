package com.example;

import static org.testng.Assert.assertEquals;

import org.testng.SkipException;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

public class WordTest {
    @Test
    public void joins() {
        System.out.println("joining");
        assertEquals("a" + "b", "ab");
    }

    @Test
    public void counts() {
        assertEquals("abc".length(), 4);
    }

    @DataProvider
    public Object[][] words() {
        return new Object[][] {{"a", 1}, {"bb", 2}, {"c", 3}};
    }

    @Test(dataProvider = "words")
    public void lengths(String word, int length) {
        assertEquals(word.length(), length);
    }

    @Test
    public void skipped() {
        throw new SkipException("not here");
    }

    @Test(dependsOnMethods = "counts")
    public void after() {}
}
