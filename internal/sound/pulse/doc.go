// Package pulse is a client of sound servers that speak PulseAudio's native protocol: PulseAudio itself, and PipeWire
// by pipewire-pulse. It knows what the channel audio needs: who plays and who records, recording one stream alone,
// playing into a sink, modules.
//
// It stands between the channel audio (internal/iochan) and the server's Unix socket. Each value of a packet has a
// letter before it that says its type (tag.go); a packet is a frame with a length, and sound is a frame with the number
// of its stream (conn.go). We speak version 20 of the protocol, which all servers since 2010 know.
//
// Goroutine: one reads per connection; Close waits for it. Callbacks come from it, and must not call back.
// Lock: Conn.mu is a leaf; writing serialises frames.
package pulse
