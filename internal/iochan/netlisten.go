package iochan

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// listener is a TCP socket that a process listens on.
type listener struct {
	ip   net.IP
	port int
}

// dial is the address under which it is reached from this machine.
func (l listener) dial() string {
	host := l.ip.String()
	switch {
	case l.ip.IsUnspecified() && l.ip.To4() == nil:
		host = "::1"
	case l.ip.IsUnspecified():
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(l.port))
}

// Listening returns the TCP sockets that a process listens on.
func Listening(pid int) []netip.AddrPort {
	var all []netip.AddrPort
	for _, l := range listeners([]int{pid}) {
		if ip, ok := netip.AddrFromSlice(l.ip); ok {
			all = append(all, netip.AddrPortFrom(ip.Unmap(), uint16(l.port)))
		}
	}
	return all
}

// parseListeners reads the listening sockets out of a table of /proc/net/tcp's form, with the inodes that they have.
func parseListeners(table string, found map[string]listener) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		addr, portText, ok := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(portText, 16, 16)
		if !ok || err != nil || len(addr)%8 != 0 || len(addr) > 32 {
			continue
		}
		ip := make(net.IP, 0, 16)
		for i := 0; i < len(addr); i += 8 { // words in the machine's order
			w, err := strconv.ParseUint(addr[i:i+8], 16, 32)
			if err != nil {
				ip = nil
				break
			}
			ip = append(ip, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
		if len(ip) != 4 && len(ip) != 16 {
			continue
		}
		found[f[9]] = listener{ip, int(port)}
	}
}

func distinct(ports []int) []int {
	slices.Sort(ports)
	return slices.Compact(ports)
}

func joinInts(all []int) string {
	var b []string
	for _, n := range all {
		b = append(b, strconv.Itoa(n))
	}
	return strings.Join(b, ", ")
}
