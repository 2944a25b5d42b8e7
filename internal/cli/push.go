package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/fleet"
	"github.com/strobe-debug/strobe/internal/store"
)

// placeVariable names where sessions are kept together, where --to or --from does not.
const placeVariable = "STROBE_FLEET"

func (a *app) pushCommand() *cobra.Command {
	var to, service string
	var presign bool
	var expires time.Duration
	c := &cobra.Command{
		Use:   "push ID|FILE.db... --to PLACE",
		Short: "Put sessions where those of many machines and runs are kept",
		Long: `Puts sessions that have ended, their file and their tables as strobe export --format parquet writes them,
below a place that strobe fleet asks questions of: s3://BUCKET/PREFIX of Amazon's or any store that speaks S3, a folder,
or file:///FOLDER. Twice is once: what is there is left as it is. A push that is interrupted leaves nothing that
questions would see, and can be made again.

Credentials and endpoint come from the usual variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
AWS_REGION, AWS_ENDPOINT_URL. The place may be in ` + placeVariable + `. Sessions are pushed as they were recorded.

With --presign it pushes nothing and prints a ticket, by which a machine without credentials pushes one session of the
service within its time: strobe push ID --to TICKET.`,
		Example: `  strobe push app-2026-05-04-10h30 --to s3://traces/shop
  strobe push ./app.db --to /mnt/traces
  strobe push --presign --service shop --to s3://traces/shop --expires 1h`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				to = os.Getenv(placeVariable)
			}
			switch {
			case presign && (len(args) > 0 || service == ""):
				return fault.New(fault.ValidationError, "Give --service, and no session: a ticket is for one that is yet to come.",
					"a ticket is for a service")
			case presign:
				return a.presign(to, service, expires)
			case len(args) == 0:
				return fault.New(fault.ValidationError, "See `strobe sessions` for the ids.", "no session to push is named")
			}
			return a.push(cmd.Context(), args, to)
		},
	}
	c.Flags().StringVar(&to, "to", "", "s3://BUCKET/PREFIX, a folder, or a ticket (default: "+placeVariable+")")
	c.Flags().BoolVar(&presign, "presign", false, "print a ticket instead")
	c.Flags().StringVar(&service, "service", "", "of the ticket's session")
	c.Flags().DurationVar(&expires, "expires", time.Hour, "how long the ticket holds, up to 168h")
	return c
}

func (a *app) presign(to, service string, expires time.Duration) error {
	b, err := bucket.Open(to, os.Getenv)
	if err != nil {
		return err
	}
	t, err := fleet.NewTicket(b, service, "ticket-"+strings.ToLower(rand.Text()[:16]), time.Now(), expires)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, t)
	return nil
}

func (a *app) push(ctx context.Context, sessions []string, to string) error {
	place, err := fleet.OpenPlace(to, os.Getenv)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "strobe-push-")
	if err != nil {
		return fmt.Errorf("make room for tables: %w", err)
	}
	defer os.RemoveAll(scratch)
	for _, s := range sessions {
		p, err := a.pushOne(ctx, place, s, scratch)
		if err != nil {
			return err
		}
		switch {
		case a.json:
			if err := json.NewEncoder(a.out).Encode(p); err != nil {
				return err
			}
		case p.Made == 0:
			fmt.Fprintf(a.out, "%s: is there already, in %s\n", p.Session, p.To)
		default:
			fmt.Fprintf(a.out, "%s: %d events, %d objects of %s, in %s\n", p.Session, p.Events, p.Made,
				bytesText(p.Bytes), p.To)
		}
	}
	return nil
}

func (a *app) pushOne(ctx context.Context, place *fleet.Place, session, scratch string) (_ *fleet.Pushed, err error) {
	path, err := sessionFile(session)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if st.Result().EndedAt == 0 && daemon.Recording(path) {
		return nil, fault.New(fault.ValidationError, "Push it when it has ended, or stop it: strobe stop ID --retain.",
			"session %s is still recorded, and what is pushed never changes", st.Meta().SessionID)
	}
	return place.Push(ctx, st, scratch)
}

func (a *app) pullCommand() *cobra.Command {
	var from, output string
	c := &cobra.Command{
		Use:   "pull NAME --from PLACE",
		Short: "Bring back a session that was pushed",
		Long: `Brings back the file of a session that strobe push put somewhere, and takes it in as strobe import does.
NAME is as strobe fleet says it, or a beginning that no other session has. With -o it only writes the file.`,
		Example: `  strobe pull app-2026-05-04-10h30 --from s3://traces/shop
  strobe pull app-2026-05-04-10h30.1f0c22aa --from /mnt/traces -o app.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				from = os.Getenv(placeVariable)
			}
			b, err := bucket.Open(from, os.Getenv)
			if err != nil {
				return err
			}
			return a.pull(cmd.Context(), b, args[0], output)
		},
	}
	c.Flags().StringVar(&from, "from", "", "s3://BUCKET/PREFIX or a folder (default: "+placeVariable+")")
	c.Flags().StringVarP(&output, "output", "o", "", "file to write, which does not exist, instead of taking it in")
	return c
}

func (a *app) pull(ctx context.Context, b bucket.Bucket, name, output string) error {
	beside := filepath.Dir(output)
	if output == "" {
		home, err := daemon.Home()
		if err != nil {
			return err
		}
		if err := os.MkdirAll(home, 0o700); err != nil {
			return fmt.Errorf("make %s: %w", home, err)
		}
		beside = home
	} else if _, err := os.Lstat(output); err == nil {
		return fault.New(fault.ValidationError, "Name a file that is not there.", "%s exists", output)
	}
	scratch, err := os.MkdirTemp(beside, ".strobe-pull-")
	if err != nil {
		return fmt.Errorf("make room for the session: %w", err)
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, "pulled.db")
	full, err := fleet.Pull(ctx, b, name, file)
	if err != nil {
		return err
	}
	st, err := store.Open(file) // what is no session is said before it takes a place
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", full, b.Where(), err)
	}
	if err := st.Close(); err != nil {
		return err
	}
	if output == "" {
		return a.importFile(ctx, file)
	}
	if err := os.Rename(file, output); err != nil {
		return fmt.Errorf("put session in its place: %w", err)
	}
	fmt.Fprintf(a.out, "%s: %s of %s\n", output, full, b.Where())
	return nil
}
