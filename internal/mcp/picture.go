package mcp

import (
	"bytes"
	"encoding/base64"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a picture begins with in the JSON of a result (service.UIPicture), and its bytes.
var pictureHead, pictureData = []byte(`"picture":{"mimeType":"`), []byte(`","data":"`)

// splitPicture takes a picture's bytes out of a result, for the image that models are shown. What is left says how
// large it is and where.
func splitPicture(result []byte) (rest []byte, image sdk.Content) {
	from := bytes.LastIndex(result, pictureHead) // what stands in texts has its quotes escaped
	if from < 0 {
		return result, nil
	}
	mime := result[from+len(pictureHead):]
	size := bytes.Index(mime, pictureData)
	if size < 0 || size > 40 {
		return result, nil
	}
	data := mime[size+len(pictureData):]
	end := bytes.IndexByte(data, '"')
	if end < 0 {
		return result, nil
	}
	b, err := base64.StdEncoding.DecodeString(string(data[:end]))
	if err != nil {
		return result, nil
	}
	rest = append(append([]byte{}, result[:from+len(pictureHead)+size+1]...), data[end+1:]...)
	return rest, &sdk.ImageContent{Data: b, MIMEType: string(mime[:size])}
}
