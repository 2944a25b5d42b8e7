package ring

// Ticks reads the time stamp counter, as the agent does.
func Ticks() uint64

func cpuid(leaf uint32) (a, b, c, d uint32)

// InvariantTicks reports whether the counter runs at one rate on all CPUs, in all power states.
func InvariantTicks() bool {
	if a, _, _, _ := cpuid(0x80000000); a < 0x80000007 {
		return false
	}
	_, _, _, d := cpuid(0x80000007)
	return d&(1<<8) != 0
}
