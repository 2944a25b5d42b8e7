package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds one decompressed section: far above any real one, below what would hurt.
const maxUnpacked = 4 << 30

// unpackSection decompresses a section: with gnu the old ZLIB header, else an ELF compression header.
func unpackSection(b []byte, gnu bool) ([]byte, error) {
	var size uint64
	typ := elf.COMPRESS_ZLIB
	if gnu {
		if len(b) < 12 || string(b[:4]) != "ZLIB" {
			return nil, errors.New("no ZLIB header")
		}
		size = binary.BigEndian.Uint64(b[4:])
		b = b[12:]
	} else {
		if len(b) < 24 {
			return nil, errors.New("compression header is cut short")
		}
		typ = elf.CompressionType(binary.LittleEndian.Uint32(b))
		size = binary.LittleEndian.Uint64(b[8:])
		b = b[24:]
	}
	// Deflate cannot do better than 1032:1; a larger claim is a lie that must not make us allocate.
	if size > maxUnpacked || size/1100 > uint64(len(b))+1 && typ == elf.COMPRESS_ZLIB {
		return nil, fmt.Errorf("size %d is not plausible", size)
	}
	switch typ {
	case elf.COMPRESS_ZLIB:
		return unpackZlib(b, size)
	case elf.COMPRESS_ZSTD:
		return unpackZstd(b, size)
	}
	return nil, fmt.Errorf("compression type %d is not known", uint32(typ))
}

func unpackZlib(b []byte, size uint64) ([]byte, error) {
	zr, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer zr.Close()
	out := make([]byte, size)
	n, err := io.ReadFull(zr, out)
	return out[:n:n], err
}

func unpackZstd(b []byte, size uint64) ([]byte, error) {
	zr, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, err
	}
	defer zr.Close()
	// The size is only believed as far as bytes really come.
	var out bytes.Buffer
	out.Grow(int(min(size, 64<<20)))
	_, err = io.Copy(&out, io.LimitReader(zr, int64(size)))
	if err == nil && uint64(out.Len()) < size {
		err = io.ErrUnexpectedEOF
	}
	return out.Bytes(), err
}
