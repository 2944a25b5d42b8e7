package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
)

// channelTarget is a session's program as its channels see it.
type channelTarget struct{ s *Session }

func (t channelTarget) Root() string { return t.s.ProjectRoot() }

func (t channelTarget) PIDs() []int { return t.s.col.PIDs() }

func (t channelTarget) Input(ctx context.Context, text string, eof bool) (int, error) {
	return t.s.Input(ctx, text, eof)
}

func (t channelTarget) Signal(ctx context.Context, name string) error {
	_, err := t.s.Signal(ctx, name)
	return err
}

// hub returns the session's channels while its program runs.
func (s *Session) hub() (*iochan.Hub, error) {
	if s.channels == nil {
		return nil, fault.New(fault.ProcessExited, "debug_query still reads what they heard; launch it again to go on.",
			"the program of session %s has ended: its channels are closed", s.ID)
	}
	return s.channels, nil
}

// AddChannel opens a channel of the session.
func (s *Session) AddChannel(ctx context.Context, name string, options json.RawMessage) error {
	h, err := s.hub()
	if err != nil {
		return err
	}
	s.touch()
	return h.Add(ctx, name, options)
}

// RemoveChannel closes one.
func (s *Session) RemoveChannel(name string) error {
	h, err := s.hub()
	if err != nil {
		return err
	}
	return h.Remove(name)
}

// SendChannel sends a message {"do": NAME, …} and returns what the channel answers. It can be cancelled by ctx.
func (s *Session) SendChannel(ctx context.Context, name string, message json.RawMessage) (any, error) {
	h, err := s.hub()
	if err != nil {
		return nil, err
	}
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return h.Send(use, name, message)
}

// Channels returns the open channels.
func (s *Session) Channels() []iochan.Info {
	if s.channels == nil {
		return []iochan.Info{}
	}
	return s.channels.List()
}

// ChannelKind returns the kind of an open channel.
func (s *Session) ChannelKind(ctx context.Context, name string) (*iochan.Kind, error) {
	h, err := s.hub()
	if err != nil {
		return nil, err
	}
	return h.Kind(ctx, name)
}

// ChannelVariables are what open channels have to say: net.url.
func (s *Session) ChannelVariables() map[string]string {
	if s.channels == nil {
		return nil
	}
	return s.channels.Variables()
}

func (s *Session) closeChannels() {
	if s.channels == nil {
		return
	}
	if err := s.channels.Close(); err != nil {
		s.log.Warn("close channels", "err", err)
	}
}

// Input sends text to the program's stdin, then its end if eof, and returns how many bytes went.
func (s *Session) Input(ctx context.Context, text string, eof bool) (int, error) {
	if s.attached && s.Live() {
		return 0, fault.New(fault.ValidationError,
			"Write to it where it was started, or launch the program with command and stdin \"pipe\".",
			"the program of session %s was attached to: its stdin is not ours", s.ID)
	}
	if s.conn == nil || !s.Live() {
		return 0, fault.New(fault.ProcessExited, "Launch it again with debug_launch.", "the program of session %s has ended",
			s.ID)
	}
	n := 0
	var err error
	if text != "" {
		n, err = s.conn.Write(ctx, []byte(text))
	}
	if err == nil && eof {
		err = s.conn.CloseInput()
	}
	switch {
	case errors.Is(err, iochan.ErrNoInput):
		return n, fault.New(fault.ValidationError, `Launch with stdin "pipe" (or terminal) to send input later.`,
			"stdin of session %s is not open", s.ID)
	case errors.Is(err, context.DeadlineExceeded):
		return n, fault.New(fault.WriteFailed, "The program does not read; send the rest later.", "%d of %d bytes were taken",
			n, len(text))
	case err != nil:
		return n, fault.New(fault.WriteFailed, "See debug_session status: the program may have closed stdin or ended.", "%w",
			err)
	}
	return n, nil
}
