package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// CycloneDX 1.5, as far as it is used: https://cyclonedx.org/docs/1.5/json.
type (
	bom struct {
		Format       string          `json:"bomFormat"`
		Spec         string          `json:"specVersion"`
		Serial       string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     bomMetadata     `json:"metadata"`
		Components   []bomComponent  `json:"components"`
		Dependencies []bomDependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string       `json:"timestamp"`
		Component bomComponent `json:"component"`
	}
	bomComponent struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Name       string        `json:"name"`
		Version    string        `json:"version"`
		PURL       string        `json:"purl"`
		Hashes     []bomHash     `json:"hashes,omitempty"`
		Properties []bomProperty `json:"properties,omitempty"`
	}
	bomHash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	bomProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	bomDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// materials lists the modules that a binary is made of, as it says itself (go version -m), with go.sum's hashes.
func (r *release) materials(arch, path string, binary []byte) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read what %s is made of: %w", path, err)
	}
	sum := sha256.Sum256(binary)
	main := bomComponent{Type: "application", Name: info.Main.Path, Version: r.version, PURL: purl(info.Main.Path,
		"v"+r.version), Hashes: []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}}
	main.Ref = main.PURL
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, bomProperty{"go:" + s.Key, s.Value})
	}
	std := bomComponent{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go"))}
	std.Ref = std.PURL
	list := bom{Format: "CycloneDX", Spec: "1.5", Version: 1, Components: []bomComponent{std},
		// of the binary: the same one has the same number
		Serial:   "urn:uuid:" + uuid(sum),
		Metadata: bomMetadata{r.at.Format("2006-01-02T15:04:05Z"), main}}
	depends := bomDependency{Ref: main.Ref, DependsOn: []string{std.Ref}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := bomComponent{Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		c.Ref = c.PURL
		if h, ok := strings.CutPrefix(m.Sum, "h1:"); ok { // of all files of the module, as go.sum has it
			hash, err := base64.StdEncoding.DecodeString(h)
			if err != nil {
				return fmt.Errorf("read the hash of %s: %w", m.Path, err)
			}
			c.Properties = append(c.Properties, bomProperty{"go:h1", hex.EncodeToString(hash)})
		}
		list.Components = append(list.Components, c)
		depends.DependsOn = append(depends.DependsOn, c.Ref)
	}
	list.Dependencies = []bomDependency{depends}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return r.write("strobe-"+r.version+"-linux-"+arch+".cdx.json", append(data, '\n'))
}

// purl is the address of a Go module among packages of all kinds.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

// uuid makes one of a hash, as version 8 of RFC 9562 lets one.
func uuid(sum [32]byte) string {
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
