package shop

import kotlinx.coroutines.*

class Cart(val owner: String, val items: List<Int>)

suspend fun price(item: Int): Int {
    delay(5)
    return item * 10
}

suspend fun fast(item: Int): Int = item + 1

suspend fun tail(item: Int): Int = price(item)

suspend fun total(cart: Cart): Int {
    var sum = 0
    for (i in cart.items) sum += price(i)
    return sum + plain(sum)
}

fun plain(x: Int): Int = x % 7

suspend fun fails(item: Int): Int {
    val p = price(item)
    if (p > 20) throw IllegalStateException("too dear: $p")
    return fast(p)
}

suspend fun down(n: Int): Int {
    if (n == 0) { yield(); return 0 }
    return n + down(n - 1)
}

class Stock {
    suspend fun take(what: String, n: Long, d: Double): String {
        withContext(Dispatchers.Default) { delay(3) }
        return "$what:$n:$d"
    }
}

fun numbers(n: Int) = sequence {
    for (i in 1..n) yield(plain(i))
}

fun main() = runBlocking {
    val carts = listOf(Cart("a", listOf(1, 2)), Cart("b", listOf(3)), Cart("c", listOf()))
    val all = carts.map { c -> async { total(c) } }
    println(all.awaitAll())
    println(tail(4))
    println(try { fails(2); fails(3) } catch (e: IllegalStateException) { e.message })
    println(down(3))
    println(Stock().take("x", 5L, 1.5))
    println(numbers(3).toList())
    val job = launch { delay(100000); println("never") }
    delay(10)
    job.cancelAndJoin()
    println(job.isActive)
}
