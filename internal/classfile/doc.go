// Package classfile reads, changes and writes the class files of Java's virtual machine: bytes in, bytes out.
//
// It stands before the data path: the runtime of the JVM gets a class's bytes from its agent, has the methods that are
// to be traced call a recorder, and gives the bytes back. A class that is not changed is written as it was, byte for
// byte. What is inserted uses no local variable, and its only frame has none, so that no frame of the program's own
// changes and nothing has to be known of its classes.
//
// Bytes are anybody's: whatever is wrong with them is an error, never a panic.
package classfile
