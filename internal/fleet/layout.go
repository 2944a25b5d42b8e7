package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// folderName writes a text as the value of a partition. Engines disagree on how odd characters are written there, so
// that each stands as a line; what the service is really called is in sessions.
func folderName(s string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, s)
	if strings.Trim(name, ".") == "" {
		return "_" + name
	}
	return name
}

// key is where a table of a session lies.
func key(table, service, day, name string) string {
	return table + "/service=" + folderName(service) + "/day=" + day + "/" + name + ".parquet"
}

func dbKey(name string) string { return "db/" + name + ".db" }

// order is that of a push: what makes the session visible is last.
var order = []string{"calls", "events", "sessions"}

// Pushed says what became of a push.
type Pushed struct {
	Session string `json:"session"` // its name among all: id and what tells it from namesakes
	To      string `json:"to"`
	Made    int    `json:"made"` // objects; 0: all were there
	There   int    `json:"there"`
	Bytes   int64  `json:"bytes"` // of those that were made
	Events  int64  `json:"events"`
	Command string `json:"-"` // of the session: its program's name
}

// Place is where sessions are pushed to: a bucket, or what a ticket lets.
type Place struct {
	bucket bucket.Bucket
	ticket *ticket // nil: the bucket takes all
}

// OpenPlace returns the place that to names: as bucket.Open, or a ticket.
func OpenPlace(to string, env func(string) string) (*Place, error) {
	t, ok, err := openTicket(to)
	if err != nil {
		return nil, err
	}
	if ok {
		return &Place{bucket.Ticket(t.Objects), t}, nil
	}
	b, err := bucket.Open(to, env)
	return &Place{bucket: b}, err
}

// Push puts a session that nobody records any more into its place: its file and its tables, made below scratch, which
// is the caller's to remove.
func (pl *Place) Push(ctx context.Context, st *store.Store, scratch string) (*Pushed, error) {
	meta := st.Meta()
	name, service, day := export.Name(meta), export.Service(meta), export.Day(meta)
	p := &Pushed{Session: name, To: pl.bucket.Where(), Command: filepath.Base(meta.Command)}
	if t := pl.ticket; t != nil {
		if err := t.fits(meta); err != nil {
			return nil, err
		}
		name, p.Session, p.To = t.Name, t.Name, t.Where
	}
	last := key("sessions", service, day, name)
	// Who may only put cannot list: then each put says what is there.
	if keys, err := pl.bucket.List(ctx, last); err == nil && slices.Contains(keys, last) {
		p.There = len(order) + 1
		return p, nil
	}
	dir, db := filepath.Join(scratch, name), filepath.Join(scratch, name+".db")
	err := p.make(ctx, st, dir, db)
	if err == nil {
		err = p.put(ctx, pl.bucket, dbKey(name), db)
	}
	if err == nil && pl.ticket != nil && p.There > 0 { // of which session nobody can tell
		err = fault.New(fault.ValidationError, "Ask for another one: strobe push --presign.",
			"the ticket has been used: by this session, by another one, or by a push that was interrupted")
	}
	for _, table := range order {
		if err == nil {
			err = p.put(ctx, pl.bucket, key(table, service, day, name), filepath.Join(dir, table+".parquet"))
		}
	}
	if err = errors.Join(err, os.RemoveAll(dir), os.RemoveAll(db)); err != nil {
		return nil, err
	}
	return p, nil
}

// make writes what is to be put.
func (p *Pushed) make(ctx context.Context, st *store.Store, dir, db string) error {
	file, err := export.Find("session")
	if err != nil {
		return err
	}
	r, err := export.TablesAs(p.Session).WriteFile(ctx, st, dir)
	if err != nil {
		return err
	}
	p.Events = r.Written
	_, err = file.WriteFile(ctx, st, db)
	return err
}

func (p *Pushed) put(ctx context.Context, b bucket.Bucket, key, file string) error {
	made, err := b.Put(ctx, key, file)
	if err != nil {
		return fmt.Errorf("push %s: %w", p.Session, err)
	}
	if !made {
		p.There++
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("push %s: %w", p.Session, err)
	}
	p.Made++
	p.Bytes += info.Size()
	return nil
}

// Pull writes the file of a session to w. name is its own, or a beginning that no other has.
func Pull(ctx context.Context, b bucket.Bucket, name, file string) (full string, err error) {
	if name == "" || strings.ContainsAny(name, "/\\") {
		return "", fault.New(fault.ValidationError, "Give a name of `strobe fleet sessions`.", "%q names no session", name)
	}
	keys, err := b.List(ctx, "db/"+name)
	if err != nil {
		return "", err
	}
	var found []string
	for _, k := range keys {
		n, ok := strings.CutSuffix(strings.TrimPrefix(k, "db/"), ".db")
		if n == name {
			found = []string{n}
			break
		}
		if ok {
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 0:
		return "", fault.New(fault.SessionNotFound, "See `strobe fleet sessions`.", "%s has no session %q", b.Where(), name)
	case len(found) > 1:
		return "", fault.New(fault.ValidationError, "Give one of them.", "%d sessions begin with %q: %s", len(found), name,
			strings.Join(found[:min(len(found), 5)], ", "))
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make file for %s: %w", found[0], err)
	}
	err = b.Get(ctx, dbKey(found[0]), f)
	return found[0], errors.Join(err, f.Close())
}
