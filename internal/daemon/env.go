package daemon

import (
	"os"
	"time"
)

// The environment that the daemon reads. STROBE_DEBUG_* are for us and no stable interface.
const (
	envHome        = "STROBE_HOME"
	envDebugIdle   = "STROBE_DEBUG_IDLE"          // a time.Duration in place of defaultIdle
	envDebugMemory = "STROBE_DEBUG_WORKER_MEMORY" // bytes that a worker may take
	envDebugLog    = "STROBE_DEBUG_LOG"           // debug: log at that level
)

// defaultIdle is how long a daemon without clients and work stays: long enough to keep symbols
// warm between two calls of an agent at work, short enough to be gone after it.
const defaultIdle = 30 * time.Minute

func idleFromEnv() time.Duration {
	if d, err := time.ParseDuration(os.Getenv(envDebugIdle)); err == nil && d > 0 {
		return d
	}
	return defaultIdle
}
