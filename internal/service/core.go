package service

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
)

// openCore is debug_launch with a core: nothing is run.
func openCore(ctx context.Context, s *Service, p *LaunchParams) (*LaunchResult, error) {
	if p.Command == "" {
		return nil, invalid("Give command, the program that the core is of.", "core without command")
	}
	if p.StopOnEntry || len(p.Args)+len(p.Env)+len(p.Trace) > 0 || p.Cwd != "" || p.Stdin != "" || p.Terminal ||
		p.OnFullBuffer != "" || p.SerializationDepth != 0 || p.KeepSecrets {
		return nil, invalid("Give command (the program), core, projectRoot, and perhaps symbolsPath and name.",
			"a core file is read, not run: args, cwd, env, stdin, terminal, trace, stopOnEntry, serializationDepth, "+
				"onFullBuffer and keepSecrets do not go with core (secrets.redact is for it)")
	}
	sess, err := s.sessions.OpenCore(ctx, collector.CoreRequest{Core: p.Core, Binary: p.Command,
		SymbolsPath: p.SymbolsPath, ProjectRoot: p.ProjectRoot}, p.Name)
	if err != nil {
		return nil, err
	}
	state, err := sess.Started()
	if err != nil {
		return nil, err
	}
	return &LaunchResult{
		SessionID: sess.ID, PID: state.PID, Runtime: state.Runtime, Capabilities: *state.Caps, Warnings: state.Warnings,
		NextSteps: "debug_session status shows the crash in short; debug_query eventType crash all stacks and values; " +
			"debug_memory reads more.",
	}, nil
}
