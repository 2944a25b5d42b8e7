set d [dict create]
foreach {k v} {a 1 b 2 c 3 d 4 e 5 f 6 g 7} { dict set d $k $v }
foreach k {b a} { dict unset d $k }
foreach {k v} {h 8 i 9} { dict set d $k $v }
foreach k [lsort [dict keys $d]] { puts "$k [dict get $d $k]" }
puts [dict size $d]
