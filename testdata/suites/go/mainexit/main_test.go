package mainexit

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Println("database: cannot be closed")
	os.Exit(code + 4)
}

func TestFine(t *testing.T) {}
