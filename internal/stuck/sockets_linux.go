package stuck

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socketMayChange reports whether an outsider may send to a socket, make room for what it sends, or end its connection.
// Not so where the connection is between our own processes, on this machine.
func (o *outsiders) socketMayChange(pid, fd int, link string) bool {
	if mine, err := os.Readlink("/proc/self/ns/net"); err != nil || mine != namespaceOf(pid) || !o.inside(link) {
		return true
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"), 10, 32)
	if err != nil {
		return true
	}
	peer := unixPeer(uint32(inode))
	if peer == 0 {
		if peer = tcpPeer(pid, inode); peer == 0 || userTimeout(pid, fd) {
			return true
		}
	}
	return !o.inside(fmt.Sprintf("socket:[%d]", peer))
}

func namespaceOf(pid int) string {
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return ""
	}
	return to
}

// withSocket calls fn with a copy of a process's descriptor. False: there was none.
func withSocket(pid, fd int, fn func(s int) bool) bool {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(p) //nolint:errcheck // nothing was written
	s, err := unix.PidfdGetfd(p, fd, 0)
	if err != nil {
		return false
	}
	defer unix.Close(s) //nolint:errcheck // the process has its own
	return fn(s)
}

// timesOut reports whether calls on a socket end after a while, or that is not known.
func timesOut(pid, fd int) bool {
	return !withSocket(pid, fd, func(s int) bool {
		for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
			if v, err := unix.GetsockoptTimeval(s, unix.SOL_SOCKET, option); err != nil || v.Sec != 0 || v.Usec != 0 {
				return false
			}
		}
		return true
	})
}

// userTimeout reports whether a connection ends when what was sent is not taken for a while, or that is not known.
func userTimeout(pid, fd int) bool {
	return !withSocket(pid, fd, func(s int) bool {
		v, err := unix.GetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		return err == nil && v == 0
	})
}

// unixPeer asks the kernel for the socket that a Unix one is connected with, where nobody else can send to it; else 0.
func unixPeer(inode uint32) uint64 {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0
	}
	defer unix.Close(s) //nolint:errcheck // nothing was written
	const (
		byFamily         = 20 // SOCK_DIAG_BY_FAMILY
		showName         = 1
		showPeer         = 4
		attrName         = 0
		attrPeer         = 2
		established      = 1
		header, asked    = 16, 24
		answered, attrOf = 16, 4
		wait             = 1 // second
	)
	q := make([]byte, 0, header+asked)
	le := binary.LittleEndian
	q = le.AppendUint32(q, header+asked)
	q = le.AppendUint16(q, byFamily)
	q = le.AppendUint16(q, unix.NLM_F_REQUEST)
	q = le.AppendUint64(q, 0)
	q = le.AppendUint32(q, unix.AF_UNIX)
	q = le.AppendUint32(q, 0xffffffff) // states
	q = le.AppendUint32(q, inode)
	q = le.AppendUint32(q, showName|showPeer)
	q = le.AppendUint64(q, 0xffffffffffffffff) // whatever its cookie
	limit := unix.Timeval{Sec: wait}
	unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit) //nolint:errcheck // the kernel answers at once
	if unix.Sendto(s, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return 0
	}
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, b, 0)
	if b = b[:max(n, 0)]; err != nil || len(b) < header+answered || le.Uint16(b[4:]) != byFamily ||
		le.Uint32(b[header+4:]) != inode {
		return 0
	}
	kind, state := b[header+1], b[header+2]
	named, peer := false, uint64(0)
	for b = b[header+answered:]; len(b) >= attrOf; {
		size := int(le.Uint16(b))
		if size < attrOf || size > len(b) {
			return 0
		}
		switch le.Uint16(b[2:]) {
		case attrName:
			named = true
		case attrPeer:
			if size >= attrOf+4 {
				peer = uint64(le.Uint32(b[attrOf:]))
			}
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	if kind == unix.SOCK_DGRAM && named || kind != unix.SOCK_DGRAM && state != established {
		return 0
	}
	return peer
}

// tcpPeer finds the other end of a connection of this machine with itself, on which nothing is under way; else 0.
func tcpPeer(pid int, inode uint64) uint64 {
	type end struct {
		local, remote string
		inode         uint64
	}
	const established = "01"
	for _, name := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if err != nil {
			return 0
		}
		var all []end
		var mine *end
		for line := range strings.Lines(string(b)) {
			// sl local remote state tx:rx timer:when retransmits user timeout inode
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != established {
				continue
			}
			switch timer, _, _ := strings.Cut(f[5], ":"); timer {
			case "00", "02", "04": // none, keepalive, the other end has no room
			default:
				continue
			}
			if n, err := strconv.ParseUint(f[9], 10, 64); err == nil && n != 0 {
				if all = append(all, end{f[1], f[2], n}); n == inode {
					mine = &end{f[1], f[2], n}
				}
			}
		}
		if mine == nil {
			continue
		}
		var peer uint64
		for _, e := range all {
			if e.local == mine.remote && e.remote == mine.local {
				if peer != 0 {
					return 0
				}
				peer = e.inode
			}
		}
		return peer
	}
	return 0
}
