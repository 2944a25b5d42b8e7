package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestVsix: the extension's package has what its manifests name, with the version of the release, and the same bytes
// twice.
func TestVsix(t *testing.T) {
	root, err := filepath.Abs(strobetest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	var packed [2][]byte
	for i := range packed {
		r := newRelease(t, root)
		if err := r.extension(t.Context()); err != nil {
			t.Fatal(err)
		}
		if packed[i], err = os.ReadFile(filepath.Join(r.out, "strobe-vscode-"+testVersion+".vsix")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("the same commit gives other bytes")
	}
	z, err := zip.NewReader(bytes.NewReader(packed[0]), int64(len(packed[0])))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		f, err := z.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var m struct {
		Main, Icon, Version string
		DevDependencies     map[string]string
	}
	if err := json.Unmarshal(read("extension/package.json"), &m); err != nil {
		t.Fatal(err)
	}
	if m.Version != "1.2.3" || m.DevDependencies != nil {
		t.Errorf("package.json has version %q and devDependencies %v", m.Version, m.DevDependencies)
	}
	read(filepath.Join("extension", m.Main))
	read(filepath.Join("extension", m.Icon))
	var about struct {
		Metadata struct {
			Identity struct {
				ID      string `xml:"Id,attr"`
				Version string `xml:",attr"`
			}
		}
		Assets struct {
			Asset []struct {
				Path string `xml:",attr"`
			}
		}
	}
	if err := xml.Unmarshal(read("extension.vsixmanifest"), &about); err != nil {
		t.Fatal(err)
	}
	if id := about.Metadata.Identity; id.ID != "strobe" || id.Version != "1.2.3" {
		t.Errorf("the package is called %+v", id)
	}
	for _, a := range about.Assets.Asset {
		read(a.Path)
	}
	if err := xml.Unmarshal(read("[Content_Types].xml"), new(struct{})); err != nil {
		t.Errorf("the types of its files: %v", err)
	}
}
