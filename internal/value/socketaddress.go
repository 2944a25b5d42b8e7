package value

import (
	"encoding/binary"
	"net/netip"
	"strconv"
)

// plainPointer shows a pointer of which no more is known than the address.
func (r *renderer) plainPointer(v view) Value {
	b, state := r.bytes(v, 8)
	if state != chunkOK {
		return markerOf(state)
	}
	return newAddress(binary.LittleEndian.Uint64(b))
}

// families are the names of address families that programs meet: bits/socket.h.
var families = map[uint64]string{0: "AF_UNSPEC", 1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK",
	17: "AF_PACKET", 29: "AF_CAN", 31: "AF_BLUETOOTH", 40: "AF_VSOCK"}

// socketAddress shows a sockaddr by its family: address and port, or the path.
func (r *renderer) socketAddress(b []byte) Value {
	at, family := word(b, 0), word(b, 1)
	if at == 0 {
		return Value{}
	}
	name, known := families[family]
	if !known {
		return NewObject(Object{{"family", NewUint(family)}})
	}
	o := Object{{"family", NewText(name)}}
	switch family {
	case 1:
		return NewObject(append(o, Member{"path", r.unixPath(at)}))
	case 2, 10:
		k := r.node(at, WalkBytes)
		if k < 0 {
			return NewObject(o)
		}
		data := r.chunks[k].data
		if r.chunks[k].state != chunkOK || len(data) < 16 || family == 10 && len(data) < 28 {
			return NewObject(append(o, Member{"address", r.lost(k)}))
		}
		ip := netip.AddrFrom4([4]byte(data[4:8]))
		if family == 10 {
			ip = netip.AddrFrom16([16]byte(data[8:24]))
			if scope := binary.LittleEndian.Uint32(data[24:]); scope != 0 {
				ip = ip.WithZone(strconv.FormatUint(uint64(scope), 10))
			}
		}
		return NewObject(append(o, Member{"address", NewText(ip.String())},
			Member{"port", NewUint(uint64(binary.BigEndian.Uint16(data[2:])))}))
	}
	return NewObject(o)
}

// unixPath is the path of a socket; a name without a file begins with @, as ss and netstat show it.
func (r *renderer) unixPath(at uint64) Value {
	prefix, k := "", r.node(at+2, WalkText)
	if k < 0 {
		prefix, k = "@", r.node(at+3, WalkText)
	}
	if k < 0 {
		return NewText("")
	}
	if r.chunks[k].state != chunkOK {
		return r.lost(k)
	}
	return NewText(prefix + newCapturedText(r.chunks[k].data, 0, false).text)
}
