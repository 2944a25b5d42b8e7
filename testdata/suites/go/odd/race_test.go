package odd

import "testing"

func TestRace(t *testing.T) {
	n := 0
	done := make(chan bool)
	go func() { n++; done <- true }()
	n++
	<-done
}
