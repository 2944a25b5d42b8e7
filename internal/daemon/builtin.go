package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/collector/js"
	"github.com/strobe-debug/strobe/internal/collector/jvm"
	"github.com/strobe-debug/strobe/internal/collector/native"
	"github.com/strobe-debug/strobe/internal/collector/python"
	"github.com/strobe-debug/strobe/internal/corefile"
	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// runtimes names every language runtime, in the order in which they are asked whether a program is theirs.
func runtimes(home string, log *slog.Logger, described *natvis.Library) []collector.Runtime {
	return []collector.Runtime{
		collector.Together(native.New(native.Config{Logger: log, CacheDir: symbolCache(home), Natvis: described}), log.Warn,
			joiners(home, log)...),
	}
}

// joiners are the runtimes of interpreters.
func joiners(home string, log *slog.Logger) []collector.Joiner {
	agents := filepath.Join(home, "cache", "agents")
	return append(append(js.New(js.Config{Logger: log, CacheDir: agents}),
		python.New(python.Config{Logger: log, CacheDir: agents}), jvm.New(jvm.Config{Logger: log, CacheDir: agents})),
		examples(log)...)
}

// Languages are those of the interpreters whose programs can be traced.
func Languages() (all []collector.Language) {
	for _, j := range joiners("", nil) {
		all = append(all, j.Language())
	}
	return all
}

func symbolCache(home string) string { return filepath.Join(home, "cache", "symbols") }

// newService is the one place that names every runtime and adapter: the daemon's service has others, a worker's a link.
func newService(home string, log *slog.Logger, others session.Others, link *session.Link) (*service.Service, error) {
	described := natvis.NewLibrary(filepath.Join(home, "natvis"))
	return service.New(service.Config{
		Home: home, Logger: log, Runtimes: runtimes(home, log, described), Version: Version(),
		Cores:        corefile.New(symbolCache(home), "", described),
		ParsePattern: native.ParsePattern, Absent: native.Absent, Keeper: []string{"/proc/self/exe", "keeper"},
		DisplayKeeper: []string{"/proc/self/exe", "display-keeper"}, Space: diskSpace, Files: fileRoom,
		Adapters: testadapter.Builtin(), Strobe: ownPath(), Link: link, Others: others, Lock: lockSession,
		Locked: sessionLocked,
	})
}

// builtin hands the operations to the front ends, by way of the front.
func builtin(home string, log *slog.Logger) (*Backend, error) {
	f := newFront(home, log)
	svc, err := newService(home, log, f, nil)
	if err != nil {
		return nil, err
	}
	tools, err := mcp.Tools(svc, f.route)
	if err != nil {
		return nil, errors.Join(err, svc.Close(context.Background()))
	}
	f.begin(svc)
	return &Backend{Tools: tools, Busy: f.Busy, Close: f.Close}, nil
}

// RunKeeper is the keeper process: it holds the stdio of the daemon's targets, so that they outlive it.
func RunKeeper() error { return session.RunKeeper() }

// ownPath is our own executable, for commands that test frameworks are to start; "" where nobody knows.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
