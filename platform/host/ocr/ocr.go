// Package ocr recognizes text in pictures. It uses Vision on macOS, Windows.Media.Ocr on Windows,
// and on other systems tesseract if it is installed. Pictures are not sent to other machines.
package ocr

import (
	"bytes"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // registers the format, of which only the header is read
	_ "image/jpeg" // registers the decoder
	_ "image/png"  // registers the decoder
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"hob/platform/host/osrun"
)

// Limits of a picture and of its recognized text.
const (
	MaxBytes  = 20 << 20
	maxPixels = 60_000_000
	maxText   = 100_000 // bytes
	maxTime   = 60 * time.Second
)

// ErrNoPicture means that the data is not a PNG, JPEG or GIF, or is too large.
var ErrNoPicture = errors.New("not a readable picture (PNG, JPEG or GIF of at most 60 megapixels)")

// Options of a Reader; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Scripts runs osascript and PowerShell; nil creates a runner.
	Scripts osrun.Runner
}

// Reader recognizes text in pictures. It is stateless.
type Reader struct{ back backend }

type backend interface {
	readText(ctx context.Context, picture []byte, kind string) (string, error)
}

// New returns a Reader.
func New(o Options) *Reader {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return &Reader{newBackend(o)}
}

// Read returns the text in a picture, "" if it contains none.
func (r *Reader) Read(ctx context.Context, picture []byte) (string, error) {
	if len(picture) > MaxBytes {
		return "", ErrNoPicture
	}
	c, kind, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil || c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height {
		return "", ErrNoPicture
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	text, err := r.back.readText(ctx, picture, kind)
	if err != nil {
		return "", fmt.Errorf("read the picture: %w", err)
	}
	return cleanText(text), nil
}

// cleanText removes control characters and the empty lines at both ends.
func cleanText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "\n(text truncated)"
	}
	return strings.TrimSpace(s)
}

// tesseract runs the program tesseract (man tesseract) with the picture on standard input.
type tesseract struct{ run osrun.Programs }

func (t tesseract) readText(ctx context.Context, picture []byte, _ string) (string, error) {
	out, err := t.run.Run(ctx, picture, "tesseract", "stdin", "stdout")
	if errors.Is(err, osrun.ErrNoProgram) {
		return "", fmt.Errorf("%w; install tesseract-ocr and the language packs for your languages", err)
	}
	return string(out), err
}

var (
	//go:embed vision.js
	visionText string
	//go:embed ocr.ps1
	winText string
)

func visionScript() osrun.Script { return osrun.NewScript("ocr/vision.js", visionText) }

func winScript() osrun.Script { return osrun.NewScript("ocr/ocr.ps1", winText) }

// scriptReader passes a picture to a script in a private file, because a picture may be larger than
// a request.
type scriptReader struct {
	scripts osrun.Runner
	script  osrun.Script
}

type pathRequest struct {
	Path string `json:"path"`
}

func (s scriptReader) readText(ctx context.Context, picture []byte, kind string) (text string, err error) {
	dir, err := os.MkdirTemp("", "hob-ocr-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "picture."+kind)
	if err := os.WriteFile(file, picture, 0o600); err != nil {
		return "", err
	}
	var a struct {
		Lines []string `json:"lines"`
	}
	err = s.scripts.Run(ctx, osrun.Call{Script: s.script, In: pathRequest{file}, Wait: maxTime}, &a)
	return strings.Join(a.Lines, "\n"), err
}
