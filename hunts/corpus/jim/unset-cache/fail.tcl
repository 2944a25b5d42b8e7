set limit 10
set other 20
proc drop {name} { global log; lappend log "drop $name"; unset ::$name }
proc use {} { global limit other; return [expr {[info exists limit] * 2 + [info exists other]}] }
set log {}
for {set i 0} {$i < 6} {incr i} {
  lappend log [use]
  set local [list $i [expr {$i * $i}]]
  if {$i == 3} { drop limit }
  if {[info exists limit]} { lappend log "limit $limit" } else { lappend log none }
}
puts $log
