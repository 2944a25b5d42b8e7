package cli

import (
	"bytes"
	"os"
	"testing"
)

func TestDemoSourceIsTheOneInTestdata(t *testing.T) {
	want, err := os.ReadFile("../../testdata/demo/pricing.cpp")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(demoSource, want) {
		t.Error("demo/pricing.cpp differs from testdata/demo/pricing.cpp: copy it")
	}
}
