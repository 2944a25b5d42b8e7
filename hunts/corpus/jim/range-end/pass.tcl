proc part {s a b} { return "<[string length [string range $s $a $b]]>" }
set out {}
foreach s {alpha beta gamma delta epsilon} {
  for {set a 0} {$a < 3} {incr a} {
    foreach b {1 2 3 9} { lappend out [part $s $a $b] }
  }
}
puts $out
puts [lrange {1 2 3 4 5 6} 2 end]
