// Package locks finds inversions in what was held when which lock was taken, and says them, and who waited for which
// lock how long, for a reader.
//
// It stands behind the runtime, which reads the tables of the agent in the target; it reads no memory and knows no
// process. An inversion is a circle of two or three locks that different threads can close while they run at once.
package locks
