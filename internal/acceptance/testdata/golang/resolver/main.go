// Uses packages of the library that have C code in them.
package main

import (
	"fmt"
	"net"
	"os/user"
)

func main() {
	u, err := user.Current()
	fmt.Println(u.Uid, err)
	a, err := net.LookupHost("localhost")
	fmt.Println(len(a) > 0, err)
}
