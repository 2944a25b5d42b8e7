package service

import (
	"context"
	"encoding/base64"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui"
)

// UIPicture is a picture on its way to the front end, which shows models an image.
type UIPicture struct {
	MimeType string  `json:"mimeType"`
	Data     string  `json:"data,omitempty"` // base64
	Width    int     `json:"width"`
	Height   int     `json:"height"`
	Scale    float64 `json:"scale"` // its points by those of the screen
	X        int     `json:"x"`     // where its corner is on the screen
	Y        int     `json:"y"`
}

// Models scale larger pictures down themselves, and are paid for them by their area.
const (
	pictureSide = 1568
	pictureArea = 1_150_000
)

// takePicture is the picture of an element, or of windows with all that stands out of them.
func takePicture(ctx context.Context, one *panel, nodes []*ui.Node, single bool) (*UIPicture, error) {
	m, at, err := one.Picture(ctx, nodes, single)
	if err != nil && fault.CodeOf(err) == fault.Unsupported {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(fault.UIQueryFailed, "debug_ui shows what there is.", "take a picture: %w", err)
	}
	small, scale := ui.Shrink(m, pictureSide, pictureArea)
	size := small.Bounds()
	return &UIPicture{MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(ui.EncodePNG(small)),
		Width:  size.Dx(),
		Height: size.Dy(), Scale: scale, X: at.X, Y: at.Y}, nil
}
