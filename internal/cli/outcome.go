package cli

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
