proc tally {list} {
  set seen [dict create]
  foreach w $list {
    if {[dict exists $seen $w]} { dict set seen $w [expr {[dict get $seen $w] + 1}] } else { dict set seen $w 1 }
  }
  return $seen
}
set words {efahda bfh gbd dg cgcb hcc ad cce ddcd eafgc ebf afbe ehfc hcaea fgagfga}
set t [tally $words]
set twice [tally [concat $words $words]]
set sum 0
foreach k $words { incr sum [dict get $twice $k] }
puts "[dict size $t] [dict size $twice] $sum"
