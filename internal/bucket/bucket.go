// Package bucket owns where objects are kept together: an object store that speaks S3's protocol, or a plain folder.
//
// It stands beside the data path, below fleet, which knows what the objects are. An object is made once and never
// changed: a put of a name that is taken leaves what is there, and one that is interrupted leaves nothing. The protocol
// is spoken by hand over net/http, since the vendors' libraries are larger than the rest of the binary. It imports
// nothing of ours but errors.
package bucket

import (
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Bucket keeps objects by keys such as "a/b=c/d.parquet". Safe for concurrent use.
type Bucket interface {
	// Put makes an object of a file. It returns false where the key is taken, and leaves that alone.
	Put(ctx context.Context, key, file string) (made bool, err error)
	// Get writes an object to w. Error: ErrNone in the chain where there is none.
	Get(ctx context.Context, key string, w io.Writer) error
	// List returns the keys that begin with prefix, in order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Where is how the bucket was named, without a slash at its end.
	Where() string
}

// Open returns the bucket that to names: s3://BUCKET/PREFIX, file:///FOLDER, or a folder.
func Open(to string, env func(string) string) (Bucket, error) {
	scheme, rest, ok := strings.Cut(to, "://")
	switch {
	case to == "":
		return nil, fault.New(fault.ValidationError, "Give s3://BUCKET/PREFIX or a folder.", "no place for sessions is named")
	case !ok:
		return openFolder(to)
	case scheme == "s3":
		return openS3(rest, env)
	case scheme == "file":
		u, err := url.Parse(to)
		if err != nil || u.Path == "" || u.Host != "" && u.Host != "localhost" {
			return nil, fault.New(fault.ValidationError, "Write file:///ABSOLUTE/FOLDER.", "%s names no folder", to)
		}
		return openFolder(filepath.FromSlash(u.Path))
	}
	return nil, fault.New(fault.ValidationError, "Give s3://BUCKET/PREFIX, file:///FOLDER or a folder.",
		"sessions cannot be kept at %s://", scheme)
}

// ErrNone is in the chain of what Get returns of a key that is not there.
var ErrNone = os.ErrNotExist
