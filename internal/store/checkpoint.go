package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// walLimit is the size of the write-ahead log from which the writer makes it begin anew. Passive
	// checkpoints alone let it grow for ever under constant load.
	walLimit = 64 << 20
	// ckptInterval and ckptBytes: a passive checkpoint so often, if so much was written. It
	// costs a sync, which must not come with every commit of an idle session.
	ckptInterval = 50 * time.Millisecond
	ckptBytes    = 1 << 20
	pageBytes    = 4096
)

// checkpointer moves the write-ahead log into the file beside the writer: on a connection of its
// own, so that commits do not wait for it. It has one goroutine, from start to stop.
type checkpointer struct {
	db   *sql.DB
	log  *slog.Logger
	kick chan struct{} // capacity 1
	quit chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex // leaf but for SQL on conn
	conn    *sql.Conn
	restart bool      // the log is over its limit
	lastTry time.Time // of a restart

	unsaved int // bytes written since the last kick; the writer's
}

func newCheckpointer(path string, log *slog.Logger) (*checkpointer, error) {
	db, err := openSQL(path, nil, "busy_timeout(0)", "wal_autocheckpoint(0)", "synchronous(NORMAL)", "cache_size(-200)")
	if err != nil {
		return nil, err
	}
	c := &checkpointer{db: db, log: log, kick: make(chan struct{}, 1), quit: make(chan struct{})}
	if c.conn, err = db.Conn(context.Background()); err != nil {
		_ = db.Close() // the first error is the one that counts
		return nil, fmt.Errorf("connect checkpointer: %w", err)
	}
	return c, nil
}

func (c *checkpointer) start() {
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		tick := time.NewTimer(ckptInterval)
		defer tick.Stop()
		for {
			select {
			case <-c.kick:
			case <-c.quit:
				return
			}
			c.run("PASSIVE")
			tick.Reset(ckptInterval)
			select {
			case <-tick.C:
			case <-c.quit:
				return
			}
		}
	}()
}

// stop ends the goroutine.
func (c *checkpointer) stop() {
	close(c.quit)
	c.wg.Wait()
}

// close closes the connection. Idempotent.
func (c *checkpointer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close() // nothing is lost with a checkpoint connection
		_ = c.db.Close()
		c.conn = nil
	}
}

// run does one checkpoint. An error leaves the log as it is: nothing is lost, it is tried again.
func (c *checkpointer) run(mode string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return
	}
	var busy, frames, done int
	err := c.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &frames, &done)
	if err != nil {
		c.log.Debug("checkpoint event store", "err", err)
		return
	}
	c.restart = frames*pageBytes >= walLimit
	if mode == "RESTART" {
		c.restart = busy != 0
	}
}

// committed is called by the writer after each commit of about n bytes: the moment at which the
// log can begin anew.
func (c *checkpointer) committed(n int) {
	if c.unsaved += n; c.unsaved < ckptBytes {
		return
	}
	c.unsaved = 0
	c.mu.Lock()
	restart := c.restart && time.Since(c.lastTry) >= ckptInterval
	if restart {
		c.lastTry = time.Now()
	}
	c.mu.Unlock()
	if restart {
		c.run("RESTART")
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}
