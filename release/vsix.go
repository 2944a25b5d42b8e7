package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// vsixFiles are what an editor needs of editors/vscode. Its bundles are committed: make -C editors/vscode.
var vsixFiles = []string{"README.md", "dist/extension.js", "dist/panel.js", "media/*"}

// vsixTypes says of each ending what it is, which the format wants.
const vsixTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
	`<Default Extension=".json" ContentType="application/json"/>` +
	`<Default Extension=".vsixmanifest" ContentType="text/xml"/>` +
	`<Default Extension=".js" ContentType="application/javascript"/><Default Extension=".css" ContentType="text/css"/>` +
	`<Default Extension=".md" ContentType="text/markdown"/><Default Extension=".svg" ContentType="image/svg+xml"/>` +
	`<Default Extension=".png" ContentType="image/png"/><Default Extension=".txt" ContentType="text/plain"/></Types>
`

// vsixManifest is what galleries and editors read before the extension is unpacked.
const vsixManifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="%s" Version="%s" Publisher="%s"/>
<DisplayName>%s</DisplayName>
<Description xml:space="preserve">%s</Description>
<Tags>%s</Tags>
<Categories>%s</Categories>
<GalleryFlags>Public</GalleryFlags>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value="%s"/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
</Properties>
<License>extension/LICENSE.txt</License>
<Icon>extension/%s</Icon>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/%s" Addressable="true"/>
</Assets>
</PackageManifest>
`

// extension makes nothing but the extension.
func (r *release) extension(ctx context.Context) error {
	if err := r.when(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	return r.vsix()
}

// vsix packs the extension for Visual Studio Code as vsce does, of the same bytes wherever it is packed.
func (r *release) vsix() error {
	dir := filepath.Join(r.root, "editors/vscode")
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return err
	}
	var m struct {
		Name, Publisher, DisplayName, Description, Icon string
		Categories, Keywords                            []string
		Engines                                         struct{ VSCode string }
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("read the extension's manifest: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	version, _, _ := strings.Cut(r.version, "-") // galleries take three numbers
	all["version"], _ = json.Marshal(version)    //nolint:errcheck // a text
	delete(all, "devDependencies")
	delete(all, "scripts")
	manifest, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	files := []file{{"extension/package.json", 0o644, append(manifest, '\n')},
		{"[Content_Types].xml", 0o644, []byte(vsixTypes)}}
	e := func(s string) string {
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(s)) //nolint:errcheck // into memory
		return b.String()
	}
	files = append(files, file{"extension.vsixmanifest", 0o644, fmt.Appendf(nil, vsixManifest, e(m.Name), version,
		e(m.Publisher), e(m.DisplayName), e(m.Description), e(strings.Join(m.Keywords, ",")),
		e(strings.Join(m.Categories, ",")), e(m.Engines.VSCode), m.Icon, m.Icon)})
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	files = append(files, file{"extension/LICENSE.txt", 0o644, license})
	for _, pattern := range vsixFiles {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("the extension has no %s: make -C editors/vscode", pattern)
		}
		for _, path := range found {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, file{"extension/" + filepath.ToSlash(name), 0o644, data})
		}
	}
	packed, err := r.zip(files)
	if err != nil {
		return err
	}
	return r.write("strobe-vscode-"+r.version+".vsix", packed)
}

// zip packs files in the order of their names, all of the time of the commit.
func (r *release) zip(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		part, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.at})
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
