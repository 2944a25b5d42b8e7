package cli

import "github.com/strobe-debug/strobe/internal/fault"

// outcome is how a session ended, from debug_session status or stop.
type outcome struct {
	Status   string `json:"status"`
	ExitCode *int   `json:"exitCode"`
	Signal   string `json:"signal"`
	Hint     string `json:"hint"`
}

func (o *outcome) ended() bool {
	return o.Status != "running" && o.Status != "paused" && o.Status != ""
}

// code is the exit code that a shell would give.
func (o *outcome) code() int {
	switch {
	case o.Signal != "":
		return 128 + signalNumber(o.Signal)
	case o.ExitCode != nil:
		return *o.ExitCode
	}
	return exitError
}

// deleted is the end of a run that an error ends: where somebody else has deleted the session, as the program ended if
// that is known.
func (r *running) deleted(end *outcome, err error) (*outcome, error) {
	if fault.CodeOf(err) != fault.SessionNotFound {
		return nil, err
	}
	if r.gone = true; end.ended() {
		return end, nil
	}
	return nil, fault.New(fault.SessionNotFound, "`strobe stop ID --retain` keeps what was recorded.",
		"somebody else has stopped session %s and deleted its data: how the program ended is not known", r.id)
}

// err is what a run ends with: the program's exit code.
func (o *outcome) err() error {
	if code := o.code(); code != exitOK {
		return &exitStatus{code: code}
	}
	return nil
}
