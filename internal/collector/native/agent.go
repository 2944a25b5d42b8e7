package native

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/strobe-debug/strobe/internal/ring"
)

//go:generate sh -c "go run github.com/strobe-debug/strobe/internal/ring/gen > agent/ring_abi.h"
//go:generate make -s -C agent

// agentBlob is the agent's code, position independent; ring.BlobHeader is at its start.
//
//go:embed agent/agent_linux_amd64.bin
var agentBlob []byte

const blobMagic = 0x424f4c42454f5254

// agentHeader reads the blob's table of entry points.
func agentHeader() (ring.BlobHeader, error) {
	var h ring.BlobHeader
	if err := binary.Read(bytes.NewReader(agentBlob), binary.LittleEndian, &h); err != nil {
		return h, fmt.Errorf("read agent: %w", err)
	}
	if h.Magic != blobMagic || len(agentBlob) > ring.CodeBytes {
		return h, fmt.Errorf("read agent: magic %x, %d bytes", h.Magic, len(agentBlob))
	}
	return h, nil
}
