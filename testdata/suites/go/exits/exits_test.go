package exits

import (
	"os"
	"testing"
)

func TestBefore(t *testing.T) {}

func TestExits(t *testing.T) {
	os.Stderr.WriteString("leaving\n")
	os.Exit(3)
}

func TestAfter(t *testing.T) {}
