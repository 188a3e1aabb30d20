package plot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Save draws a picture as PNG and as SVG, saves both with keep and returns the paths. The names begin
// with name and depend on the content, so that equal pictures are saved once. A nil keep is an error
// that wraps errors.ErrUnsupported.
func Save(keep func(name string, data []byte) (string, error), name string, p Picture) ([]string, error) {
	if keep == nil {
		return nil, fmt.Errorf("pictures: %w", errors.ErrUnsupported)
	}
	svg := SVG(p)
	bitmap, err := PNG(p)
	if err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	sum := sha256.Sum256(svg)
	var out []string
	for i, ext := range []string{".png", ".svg"} {
		path, err := keep(name+"-"+hex.EncodeToString(sum[:6])+ext, [][]byte{bitmap, svg}[i])
		if err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}
