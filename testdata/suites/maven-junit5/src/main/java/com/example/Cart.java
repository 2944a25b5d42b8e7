package com.example;

public final class Cart {
    private int total;

    public int add(int price) {
        if (price < 0) {
            throw new IllegalArgumentException("price " + price);
        }
        total += price;
        return total;
    }
}
