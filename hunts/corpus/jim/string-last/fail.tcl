proc at {c s} { return [string last $c $s] }
set out {}
lappend out [at a banana]
lappend out [at n banana]
lappend out [at x banana]
lappend out [at be beta]
lappend out [at m gamma]
lappend out [at d delta]
lappend out [at i epsilon]
lappend out [at ph alphabet]
lappend out [at e bee]
lappend out [at et zeta]
lappend out [at o iota]
puts $out
