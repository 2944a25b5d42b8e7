set n {-300 556 403 250 97 -56 -209 647 494 341 188 35 -118 -271 585 432 279 126 -27 -180 676 523 370 217 64 -89 -242 614 461 308}
set sorted [lsort -integer $n]
set prev [lindex $sorted 0]
set ok 1
foreach x $sorted { if {$x < $prev} { set ok 0 }; set prev $x }
puts "$ok [llength $sorted] [lindex $sorted 0] [lindex $sorted end]"
set pairs [lmap x $n { list $x [expr {$x % 7}] }]
puts [lsort -integer -index 1 $pairs]
