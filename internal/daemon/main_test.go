package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/mcp"
)

// waitLimit bounds every wait of the tests: generous, since the machine may be busy.
const waitLimit = 20 * time.Second

// TestMain lets this test binary be a daemon and a client of one: what is started are real processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "daemon":
			err := Run(context.Background(), Options{Detached: len(os.Args) > 2, NewBackend: testBackend})
			exit(err)
		case "connect": // prints the pid of the daemon that it got
			exit(connectAndPrint())
		case "dial": // reports whether the daemon serves this process
			exit(dialAndPing(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func connectAndPrint() error {
	home, err := Home()
	if err != nil {
		return err
	}
	conn, err := Connect(context.Background(), home)
	if err != nil {
		return err
	}
	cs, err := greet(conn)
	if err != nil {
		return err
	}
	defer cs.Close()
	text, err := callText(cs, "pid", nil)
	fmt.Print(text)
	return err
}

func dialAndPing(home string) error {
	conn, err := Dial(context.Background(), home)
	if err != nil {
		return err
	}
	cs, err := greet(conn)
	if err != nil {
		return err
	}
	cs.Close()
	return nil
}

func greet(conn net.Conn) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, nil)
	return c.Connect(ctx, &sdk.IOTransport{Reader: conn, Writer: conn, MaxLineLength: -1}, nil)
}

func callText(cs *sdk.ClientSession, tool string, args any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	r, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	return r.Content[0].(*sdk.TextContent).Text, nil
}

// testBackend serves tools that tests can steer. The daemon is busy while the file "busy" is in its home.
func testBackend(home string, _ *slog.Logger) (*Backend, error) {
	object := &jsonschema.Schema{Type: "object"}
	tool := func(name string, run func(ctx context.Context, args []byte) (any, error)) mcp.Tool {
		return mcp.Tool{Name: name, Description: name, Input: object, Output: object,
			Decode: func(b []byte) (any, error) { return b, nil },
			Run:    func(ctx context.Context, p any) (any, error) { return run(ctx, p.([]byte)) }}
	}
	return &Backend{
		Tools: []mcp.Tool{
			tool("pid", func(context.Context, []byte) (any, error) { return os.Getpid(), nil }),
			tool("size", func(_ context.Context, b []byte) (any, error) { return len(b), nil }),
			tool("echo", func(_ context.Context, b []byte) (any, error) { return json.RawMessage(b), nil }),
			tool("slow", func(ctx context.Context, _ []byte) (any, error) {
				if err := appendByte(filepath.Join(home, "slow")); err != nil {
					return nil, err
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}),
		},
		Busy: func() bool {
			_, err := os.Stat(filepath.Join(home, "busy"))
			return err == nil
		},
		Close: func(context.Context) error { return os.WriteFile(filepath.Join(home, "closed"), nil, 0o600) },
	}, nil
}

// appendByte makes a file one byte longer: a count that a killed process leaves behind.
func appendByte(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte{'.'})
	return errors.Join(err, f.Close())
}

// newHome returns a private home whose daemon, if any, is gone when the test ends.
func newHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "h")
	t.Cleanup(func() {
		// Also one that was started beside it and comes only now: it would find the place free, and serve for ever.
		eventually(t, "end of the daemon", func() bool {
			left := processesOf(home)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
			}
			return len(left) == 0 && !lockHeld(LockPath(home))
		})
		eventually(t, "an empty home", func() bool { return os.RemoveAll(home) == nil })
	})
	return home
}

// processesOf are the processes that were started with a home. What has ended has no environment.
func processesOf(home string) []int {
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		b, err := os.ReadFile(name)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && bad == nil && pid != os.Getpid() &&
			slices.Contains(strings.Split(string(b), "\x00"), envHome+"="+home) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("no %s within %v", what, waitLimit)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func connectTo(t *testing.T, home string) *sdk.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	conn, err := Connect(ctx, home)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := greet(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// self returns a command that runs this test binary with arguments.
func self(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), envHome+"="+home)
	cmd.Stderr = os.Stderr
	return cmd
}
